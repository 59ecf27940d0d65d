const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * The data of those messages in an event stream that contain any of the texts
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation). All other events are
 * passed over without being read, because 10 MB can contain millions of lines and events.
 */
export function* messagesWith(stream: string, texts: readonly string[]): Generator<string> {
  const found = texts.map(() => -1);
  for (let from = 0; ; ) {
    texts.forEach((text, index) => {
      if (found[index]! < from) found[index] = indexOrEnd(stream, text, from);
    });
    const at = Math.min(...found);
    const end = endOfEvent(stream, at);
    if (end === undefined) return;
    const data = dataOf(stream, startOfEvent(stream, from, at), end);
    if (data !== undefined) yield data;
    from = end;
  }
}

function indexOrEnd(stream: string, text: string, from: number): number {
  const index = stream.indexOf(text, from);
  return index < 0 ? stream.length : index;
}

/** Whether an empty line ends here, which ends an event. Lines end with CR, LF, or both. */
function isEmptyLine(stream: string, at: number): boolean {
  const code = stream.charCodeAt(at);
  const before = stream.charCodeAt(at - 1);
  return before === LINE_FEED ? isLineEnd(code) : before === CARRIAGE_RETURN && code === CARRIAGE_RETURN;
}

const isLineEnd = (code: number) => code === LINE_FEED || code === CARRIAGE_RETURN;

function startOfEvent(stream: string, from: number, at: number): number {
  let start = at;
  while (start > from && !isEmptyLine(stream, start)) start--;
  return start;
}

/** Undefined if the stream ends first. Such an event doesn't count. */
function endOfEvent(stream: string, at: number): number | undefined {
  for (let end = at + 1; end < stream.length; end++) if (isEmptyLine(stream, end)) return end;
  return undefined;
}

/** Undefined if the event isn't a message, or has no data. */
function dataOf(stream: string, start: number, end: number): string | undefined {
  let type = '';
  const data: string[] = [];
  for (let from = start, to = start; from < end; from = ++to) {
    while (to < end && !isLineEnd(stream.charCodeAt(to))) to++;
    type = valueIn(stream, 'event', from, to) ?? type;
    const value = valueIn(stream, 'data', from, to);
    if (value !== undefined) data.push(value);
  }
  return data.length > 0 && (type === '' || type === 'message') ? data.join('\n') : undefined;
}

/** The value in a line if it has this field. */
function valueIn(stream: string, field: string, from: number, to: number): string | undefined {
  if (!stream.startsWith(field, from)) return undefined;
  const colon = from + field.length;
  if (colon >= to) return colon === to ? '' : undefined;
  if (stream[colon] !== ':') return undefined;
  return stream.slice(stream[colon + 1] === ' ' ? Math.min(colon + 2, to) : colon + 1, to);
}
