const CR = 0x0d;
const LF = 0x0a;
const [ZERO, ONE, TWO] = [0x30, 0x31, 0x32];
/** Where the status is in a response: `HTTP/1.1 100 Continue`. */
const STATUS = 9;
const STATUS_END = STATUS + 3;

/**
 * How many lines a response can have before its body, including those of informational responses. Each takes time, no matter
 * how short it is, and undici limits neither their number nor that of informational responses. Node's own client reads
 * about as many.
 */
const MAX_LINES = 2_048;

/**
 * Reads the informational responses before a response, and its headers, but never its body.
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
  #lineCount = 0;

  /** A request is being sent, so the next byte is the first one of a response. */
  expectResponse(): void {
    this.#position = 0;
    this.#isFinal = false;
    this.#lineCount = 0;
  }

  /**
   * Changes the next bytes of the connection in place.
   *
   * @returns false if the response has too many lines before its body.
   */
  apply(bytes: Buffer): boolean {
    for (let index = 0; this.#position >= 0 && index < bytes.length; ) {
      if (this.#position < STATUS_END) this.#inStatusLine(bytes, index++);
      else index = this.#afterLine(bytes, index);
    }
    return this.#lineCount <= MAX_LINES;
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
    if (found < 0) return end;
    if (this.#isLineEmpty) this.#position = this.#isFinal ? -1 : 0;
    else this.#lineCount++;
    this.#isLineEmpty = true;
    return end + 1;
  }
}
