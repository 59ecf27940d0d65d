import type { Api } from './client.ts';
import { type Problem, UNREACHABLE } from './problem.ts';

/** How much to collect before passing it to the browser, which keeps large files on disk. */
const BLOCK_BYTES = 4 * 1024 * 1024;
/** How long the browser may take to start saving. */
const KEEP_MILLISECONDS = 60_000;
/** This mark tells Excel that the file is UTF-8. */
const BYTE_ORDER_MARK = '\uFEFF';

/** A download that failed, with the service's explanation. */
export class DownloadError extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.message);
    this.problem = problem;
  }
}

/**
 * Downloads a file and has the browser save it. Nothing is saved if the download isn't complete.
 *
 * @param onProgress called with the number of bytes so far.
 * @throws DownloadError, or the signal's reason if it is aborted.
 */
export async function saveFile(
  api: Api,
  path: string,
  { signal, onProgress }: { signal: AbortSignal; onProgress(bytes: number): void },
): Promise<void> {
  try {
    const response = await api.request(path, { signal });
    if (!response.ok || !response.body) throw new DownloadError(await problemOf(response));
    const isCsv = response.headers.get('content-type')?.startsWith('text/csv');
    const file = await collect(response.body, isCsv ? BYTE_ORDER_MARK : '', onProgress);
    const [, name = 'export'] = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '') ?? [];
    save(file, name);
  } catch (error) {
    if (signal.aborted || error instanceof DownloadError) throw error;
    const problem = { code: 'NO_RESPONSE', message: UNREACHABLE, requestId: undefined, fields: [], retryable: true };
    throw new DownloadError(problem);
  }
}

async function collect(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  start: string,
  onProgress: (bytes: number) => void,
): Promise<Blob> {
  const reader = body.getReader();
  let file = new Blob([start]);
  let waiting: Uint8Array<ArrayBuffer>[] = [];
  let waitingBytes = 0;
  let bytes = 0;
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    waiting.push(read.value);
    waitingBytes += read.value.length;
    bytes += read.value.length;
    onProgress(bytes);
    if (waitingBytes < BLOCK_BYTES) continue;
    file = new Blob([file, ...waiting]);
    waiting = [];
    waitingBytes = 0;
  }
  return new Blob([file, ...waiting]);
}

function save(file: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEEP_MILLISECONDS);
}

/** The problem in an error response (RFC 9457). */
async function problemOf(response: Response): Promise<Problem> {
  const { code, detail, requestId, errors } = (await response.json()) as {
    code: string;
    detail: string;
    requestId: string;
    errors: Problem['fields'];
  };
  return { code, message: detail, requestId, fields: errors, retryable: response.status >= 429 };
}
