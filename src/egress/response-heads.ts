import { ChunkLines } from './chunk-lines.ts';

const CR = 0x0d;
const LF = 0x0a;
const [ZERO, ONE, TWO] = [0x30, 0x31, 0x32];
/** Where the status is in a response: `HTTP/1.1 100 Continue`. */
const STATUS = 9;
const STATUS_END = STATUS + 3;

const CHUNKED = 'transfer-encoding:';

/**
 * How many lines a response can have besides its body, including those of informational responses and trailers. Each takes
 * time, no matter how short it is, and undici limits neither their number nor that of informational responses. Node's own
 * client reads about as many.
 */
const MAX_LINES = 2_048;
/** The extensions of all chunks of a body. undici doesn't limit them. Node's own client reads as much. */
const MAX_EXTENSION_BYTES = 16_384;

/**
 * Reads the informational responses before a response, its headers, and its trailers. Of its body, reads only how long each
 * chunk is.
 *
 * Some servers send `100 Continue` although the request didn't ask for it. Clients must ignore it, like any
 * informational response (RFC 9110 §15.2), but undici closes the connection. It does ignore `102 Processing`, so this
 * changes 100 to 102 as the bytes arrive.
 */
export class ResponseHeads {
  /** The position in a status line, `STATUS_END` in the lines after it, or -1 elsewhere. */
  #position = -1;
  #hasTens = false;
  #isFinal = false;
  #isLineEmpty = false;
  /** The start of the current header, as long as the one that announces chunks. */
  #name = '';
  #isChunked = false;
  #lineCount = 0;
  readonly #chunks = new ChunkLines();

  /** A request is being sent, so the next byte is the first one of a response. */
  expectResponse(): void {
    this.#position = 0;
    this.#isFinal = false;
    this.#isChunked = false;
    this.#lineCount = 0;
    this.#chunks.start();
  }

  /**
   * Changes the next bytes of the connection in place.
   *
   * @returns false if the response has too many lines besides its body, or if its chunks have long extensions.
   */
  apply(bytes: Buffer): boolean {
    for (let index = 0; index >= 0 && index < bytes.length; ) {
      if (this.#position < 0) index = this.#isChunked ? this.#inChunks(bytes, index) : -1;
      else if (this.#position < STATUS_END) this.#inStatusLine(bytes, index++);
      else index = this.#afterLine(bytes, index);
    }
    return this.#lineCount <= MAX_LINES && this.#chunks.extensionBytes <= MAX_EXTENSION_BYTES;
  }

  /** Returns where the trailers start, or -1 if that isn't in these bytes. They end with an empty line, like headers. */
  #inChunks(bytes: Buffer, index: number): number {
    const trailers = this.#chunks.read(bytes, index);
    if (trailers < 0) return -1;
    this.#isChunked = false;
    this.#isLineEmpty = true;
    this.#position = STATUS_END;
    return trailers;
  }

  #inStatusLine(bytes: Buffer, index: number): void {
    const byte = bytes[index]!;
    // Clients skip empty lines before a response, as servers do before a request (RFC 9112 §2.2).
    if (this.#position === 0 && (byte === CR || byte === LF)) return;
    this.#isLineEmpty = false;
    if (this.#position === STATUS && byte !== ONE) {
      this.#isFinal = true;
      this.#position = STATUS_END;
      return;
    }
    if (this.#position === STATUS + 1) this.#hasTens = byte !== ZERO;
    if (this.#position === STATUS + 2 && byte === ZERO && !this.#hasTens) bytes[index] = TWO;
    this.#position++;
  }

  /** Returns where the next line starts. After an empty line, that is the next response, or the body. */
  #afterLine(bytes: Buffer, start: number): number {
    const found = bytes.indexOf(LF, start);
    const end = found < 0 ? bytes.length : found;
    for (let index = start; this.#isLineEmpty && index < end; index++) this.#isLineEmpty = bytes[index] === CR;
    const missing = CHUNKED.length - this.#name.length;
    if (missing > 0) this.#name += bytes.toString('latin1', start, Math.min(end, start + missing));
    if (found < 0) return end;
    if (this.#isLineEmpty) this.#position = this.#isFinal ? -1 : 0;
    else this.#endLine();
    this.#name = '';
    this.#isLineEmpty = true;
    return end + 1;
  }

  #endLine(): void {
    this.#lineCount++;
    if (this.#isFinal && this.#name.toLowerCase() === CHUNKED) this.#isChunked = true;
  }
}
