export type ServerSentEvent = { event: string; data: string };

/** Reads a stream of server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream */
export async function* serverSentEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  let event = 'message';
  let data: string[] = [];
  for await (const line of lines(body)) {
    if (line === '') {
      if (data.length > 0 || event !== 'message') yield { event, data: data.join('\n') };
      event = 'message';
      data = [];
      continue;
    }
    const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line)!;
    if (field === 'event') event = value;
    if (field === 'data') data.push(value);
  }
}

async function* lines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split(/\r\n|\n|\r(?!$)/);
    rest = parts.pop()!;
    yield* parts;
  }
}
