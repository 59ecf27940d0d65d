import type { X509Certificate } from 'node:crypto';

/** A value in DER (https://www.itu.int/rec/T-REC-X.690). */
type Value = { tag: number; content: Buffer };

const TAGS = { id: 0x06, text: 0x04, sequence: 0x30, extensions: 0xa3 };
/** A certificate's algorithm, issuer, and period of validity come before its subject (RFC 5280 §4.1). */
const SUBJECT_INDEX = 3;
const ALTERNATIVE_NAMES = '551d11';
const NAME_CONSTRAINTS = '551d1e';

/**
 * How many names a certificate has, and how many constraints it sets for the names in the certificates below it. Each
 * constraint is compared with each of those names (RFC 5280 §4.2.1.10).
 *
 * @throws Error for encodings that authorities don't use.
 */
export function countNames({ raw }: Pick<X509Certificate, 'raw'>): { names: number; constraints: number } {
  const [signed] = sequenceIn(valuesIn(raw)[0]);
  const fields = sequenceIn(signed);
  const subject = fields.filter(({ tag }) => tag === TAGS.sequence)[SUBJECT_INDEX];
  const counts = { names: itemsIn(sequenceIn(subject)), constraints: 0 };
  for (const { content } of fields.filter(({ tag }) => tag === TAGS.extensions)) {
    for (const extension of sequenceIn(valuesIn(content)[0])) {
      const [id, ...rest] = sequenceIn(extension);
      const type = contentOf(id, TAGS.id).toString('hex');
      if (type !== ALTERNATIVE_NAMES && type !== NAME_CONSTRAINTS) continue;
      const items = sequenceIn(valuesIn(contentOf(rest.at(-1), TAGS.text))[0]);
      if (type === ALTERNATIVE_NAMES) counts.names += items.length;
      else counts.constraints += itemsIn(items);
    }
  }
  return counts;
}

const itemsIn = (lists: readonly Value[]): number =>
  lists.reduce((sum, { content }) => sum + valuesIn(content).length, 0);

const sequenceIn = (value: Value | undefined): Value[] => valuesIn(contentOf(value, TAGS.sequence));

function contentOf(value: Value | undefined, tag: number): Buffer {
  if (value?.tag !== tag) throw new Error('The certificate has an unexpected structure.');
  return value.content;
}

function valuesIn(encoded: Buffer): Value[] {
  const values: Value[] = [];
  for (let offset = 0; offset < encoded.length; ) {
    const { length, start } = lengthAt(encoded, offset + 1);
    const end = start + length;
    if (end > encoded.length) throw new Error('The certificate is cut off.');
    values.push({ tag: encoded[offset]!, content: encoded.subarray(start, end) });
    offset = end;
  }
  return values;
}

function lengthAt(encoded: Buffer, offset: number): { length: number; start: number } {
  const first = encoded.readUInt8(offset);
  if (first < 0x80) return { length: first, start: offset + 1 };
  // Throws a RangeError if there are none, which means that the length is indefinite, or too many.
  const size = first - 0x80;
  return { length: encoded.readUIntBE(offset + 1, size), start: offset + 1 + size };
}
