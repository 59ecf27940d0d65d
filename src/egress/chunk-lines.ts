const LF = 0x0a;
const CR = 0x0d;
const SEMICOLON = 0x3b;
const BASE = 16;

/**
 * Follows a chunked body (RFC 9112 §7.1): the lines that say how long each chunk is, and the extensions in them. Data is
 * passed over unread.
 */
export class ChunkLines {
  /** How much of the current chunk's data is left. Infinite if the body isn't what it should be. */
  #left = 0;
  /** The size in the current line, or undefined before its first digit. */
  #size: number | undefined;
  #isInExtension = false;
  #extensionBytes = 0;

  /** The size of all extensions so far. */
  get extensionBytes(): number {
    return this.#extensionBytes;
  }

  /** The next byte is the first one of a body. */
  start(): void {
    this.#left = 0;
    this.#size = undefined;
    this.#isInExtension = false;
    this.#extensionBytes = 0;
  }

  /**
   * Reads the bytes from `start` onward.
   *
   * @returns where the trailers start, or -1 if that isn't in these bytes.
   */
  read(bytes: Buffer, start: number): number {
    for (let index = start; index < bytes.length; ) {
      if (this.#left > 0) {
        const passed = Math.min(this.#left, bytes.length - index);
        this.#left -= passed;
        index += passed;
      } else if (this.#isInExtension) {
        const end = bytes.indexOf(LF, index);
        this.#isInExtension = end < 0;
        this.#extensionBytes += (end < 0 ? bytes.length : end) - index;
        index = end < 0 ? bytes.length : end;
      } else if (this.#endsSize(bytes[index++]!)) return index;
    }
    return -1;
  }

  /** Reads a byte of a size, or of the end of the line before it. Returns whether it ends the last chunk's line. */
  #endsSize(byte: number): boolean {
    if (byte === SEMICOLON) this.#isInExtension = true;
    else if (byte === LF && this.#size !== undefined) {
      this.#left = this.#size;
      this.#size = undefined;
      return this.#left === 0;
    } else if (byte !== CR && byte !== LF) {
      const digit = Number.parseInt(String.fromCharCode(byte), BASE);
      if (Number.isNaN(digit)) this.#left = Number.POSITIVE_INFINITY;
      this.#size = (this.#size ?? 0) * BASE + digit;
    }
    return false;
  }
}
