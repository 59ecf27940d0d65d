/** One request's share of the memory for answers. */
export type HeldAnswer = {
  /** Reserves bytes; false when there is no room for them. */
  take(bytes: number): boolean;
  /** Gives all of it back. */
  release(): void;
};

const MAX_HELD_BYTES = 256 * 1024 * 1024;

/**
 * Bounds the bytes of answers that all requests of the process hold at once: while they are settled, and until their
 * buyers have read them. Without it large answers at a low price could use up the memory of a gateway that sellers share.
 *
 * @returns a function that opens the share of one request.
 */
export function createAnswerMemory(maxBytes = MAX_HELD_BYTES): () => HeldAnswer {
  let heldBytes = 0;
  return () => {
    let ownBytes = 0;
    return {
      take(bytes) {
        if (heldBytes + bytes > maxBytes) return false;
        heldBytes += bytes;
        ownBytes += bytes;
        return true;
      },
      release() {
        heldBytes -= ownBytes;
        ownBytes = 0;
      },
    };
  };
}
