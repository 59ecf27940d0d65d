import { connect } from 'node:net';

export type RawResponse = { status: number; headers: Headers; text: string };

/**
 * Sends raw bytes to a server, and reads its responses until it has sent `count` final ones or closes the connection.
 * Use it for requests that no HTTP client would send.
 */
export async function sendRaw(url: string, chunks: (string | Buffer)[], count = 1): Promise<RawResponse[]> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const { promise, resolve, reject } = Promise.withResolvers<RawResponse[]>();
  let received = Buffer.alloc(0);
  socket.on('data', (data: Buffer) => {
    received = Buffer.concat([received, data]);
    const responses = parseAnswers(received);
    if (responses.filter(isFinal).length >= count) resolve(responses);
  });
  socket.on('close', () => resolve(parseAnswers(received)));
  socket.on('error', reject);
  for (const chunk of chunks) socket.write(chunk);
  try {
    return await promise;
  } finally {
    socket.destroy();
  }
}

/** 101 is the last response, too: the connection then belongs to another protocol. */
const isFinal = ({ status }: RawResponse) => status >= 200 || status === 101;

/** Parses the complete responses. A body ends where Content-Length says. The service always sends that header. */
function parseAnswers(bytes: Buffer): RawResponse[] {
  const responses: RawResponse[] = [];
  let at = 0;
  for (;;) {
    const end = bytes.indexOf('\r\n\r\n', at);
    if (end < 0) return responses;
    const [statusLine = '', ...lines] = bytes.subarray(at, end).toString('latin1').split('\r\n');
    const headers = new Headers(lines.map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string]));
    const bodyEnd = end + 4 + Number(headers.get('content-length') ?? 0);
    if (bytes.length < bodyEnd) return responses;
    responses.push({
      status: Number(statusLine.split(' ')[1]),
      headers,
      text: bytes.subarray(end + 4, bodyEnd).toString(),
    });
    at = bodyEnd;
  }
}
