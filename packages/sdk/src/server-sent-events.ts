export type ServerSentEvent = { event: string; data: string };

/**
 * Reads a stream of server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
 *
 * @param onBytes Called for everything that arrives, including keep-alives.
 */
export async function* serverSentEvents(
  body: ReadableStream<Uint8Array>,
  onBytes: () => void,
): AsyncGenerator<ServerSentEvent> {
  let event = 'message';
  let data: string[] = [];
  for await (const line of lines(body, onBytes)) {
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

async function* lines(body: ReadableStream<Uint8Array>, onBytes: () => void): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      onBytes();
      const parts = (rest + decoder.decode(read.value, { stream: true })).split(/\r\n|\n|\r(?!$)/);
      rest = parts.pop()!;
      yield* parts;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
