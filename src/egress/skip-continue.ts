const CR = 0x0d;
const LF = 0x0a;
const [ZERO, ONE, TWO] = [0x30, 0x31, 0x32];
/** Where the status is in a response: `HTTP/1.1 100 Continue`. */
const STATUS = 9;
const STATUS_END = STATUS + 3;

/**
 * Some servers send `100 Continue` although the request didn't ask for it. Clients must ignore it, like any
 * informational response (RFC 9110 §15.2), but undici closes the connection. It does ignore `102 Processing`, so this
 * changes 100 to 102 as the bytes arrive. It reads only the informational responses before a response and the first
 * bytes of the response, never its body.
 */
export class SkipContinue {
  /** The position in a status line, `STATUS_END` in the rest of an informational response, or -1 elsewhere. */
  #position = -1;
  #hasTens = false;
  #isLineEmpty = false;

  /** A request is being sent, so the next byte is the first one of a response. */
  expectResponse(): void {
    this.#position = 0;
  }

  /** Changes the next bytes of the connection in place. */
  apply(bytes: Buffer): void {
    for (let index = 0; this.#position >= 0 && index < bytes.length; index++) {
      if (this.#position < STATUS_END) this.#inStatusLine(bytes, index);
      else this.#afterStatus(bytes[index]!);
    }
  }

  #inStatusLine(bytes: Buffer, index: number): void {
    const byte = bytes[index]!;
    // Clients skip empty lines before a response, as servers do before a request (RFC 9112 §2.2).
    if (this.#position === 0 && (byte === CR || byte === LF)) return;
    if (this.#position === STATUS && byte !== ONE) {
      this.#position = -1;
      return;
    }
    if (this.#position === STATUS + 1) this.#hasTens = byte !== ZERO;
    if (this.#position === STATUS + 2 && byte === ZERO && !this.#hasTens) bytes[index] = TWO;
    this.#position++;
    this.#isLineEmpty = false;
  }

  /** The next response starts after an empty line. */
  #afterStatus(byte: number): void {
    if (byte === LF && this.#isLineEmpty) this.#position = 0;
    else if (byte !== CR) this.#isLineEmpty = byte === LF;
  }
}
