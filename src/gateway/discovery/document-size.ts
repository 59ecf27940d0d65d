const MAX_BYTES = 1_048_576;
/** The space that is reserved for the parts of a document that every project has. */
const FRAME_BYTES = 16_384;
/** The maximum size of a separator between two parts of the document. */
const SEPARATOR_BYTES = 4;

/** How much of a document may be used for endpoints that are described in full. The rest is for listing the others. */
export const MAX_FULL_BYTES = MAX_BYTES / 2;

/**
 * Adds up the parts of a document. Documents can be requested by anyone and are built in one go, so their size limits
 * how long that takes and how much memory they need.
 *
 * @returns a function that counts a part and returns true, or returns false if the part doesn't fit.
 */
export function createSizeLimit(): (part: string, maxBytes?: number) => boolean {
  let bytes = FRAME_BYTES;
  return (part, maxBytes = MAX_BYTES) => {
    const sum = bytes + Buffer.byteLength(part) + SEPARATOR_BYTES;
    if (sum > maxBytes) return false;
    bytes = sum;
    return true;
  };
}

/** Writes items until the document is full. */
export function writeWhileFitting<Item>(items: Iterable<Item>, write: (item: Item) => string): string[] {
  const fits = createSizeLimit();
  const written: string[] = [];
  for (const item of items) {
    const part = write(item);
    if (!fits(part)) break;
    written.push(part);
  }
  return written;
}
