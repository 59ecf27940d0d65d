import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

/** DER: https://www.itu.int/rec/T-REC-X.690 */
function encode(tag: number, ...contents: Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const long = Buffer.from([length >> 8, length & 0xff]);
  const size = length < 128 ? Buffer.from([length]) : Buffer.concat([Buffer.from([0x82]), long]);
  return Buffer.concat([Buffer.from([tag]), size, content]);
}
const sequence = (...contents: Uint8Array[]) => encode(0x30, ...contents);
const objectId = (...bytes: number[]) => encode(0x06, Buffer.from(bytes));
const text = (tag: number, content: string) => encode(tag, Buffer.from(content));

const ECDSA_SHA256 = sequence(objectId(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));
const RSA_SHA256 = sequence(objectId(0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b), encode(0x05));
const VALIDITY = sequence(text(0x17, '200101000000Z'), text(0x17, '490101000000Z'));
const TRUE = encode(0x01, Buffer.from([0xff]));
const IS_AUTHORITY = sequence(objectId(0x55, 0x1d, 0x13), TRUE, encode(0x04, sequence(TRUE)));
const isFor = (hosts: string[]) =>
  sequence(objectId(0x55, 0x1d, 0x11), encode(0x04, sequence(...hosts.map((host) => text(0x82, host)))));
const excludes = (hosts: string[]) =>
  sequence(
    objectId(0x55, 0x1d, 0x1e),
    TRUE,
    encode(0x04, sequence(encode(0xa1, ...hosts.map((host) => sequence(text(0x82, host)))))),
  );
const nameOf = (level: number) => sequence(encode(0x31, sequence(objectId(0x55, 0x04, 0x03), text(0x0c, `c${level}`))));

function issue(level: number, issuer: number, key: KeyObject, signer: KeyObject, own: Uint8Array[]): string {
  const algorithm = signer.asymmetricKeyType === 'rsa' ? RSA_SHA256 : ECDSA_SHA256;
  const version = encode(0xa0, encode(0x02, Buffer.from([2])));
  const serial = encode(0x02, Buffer.from([level + 1]));
  const publicKey = createPublicKey(key).export({ format: 'der', type: 'spki' });
  const extensions = encode(0xa3, sequence(...own));
  const names = [nameOf(issuer), VALIDITY, nameOf(level)];
  const signed = sequence(version, serial, algorithm, ...names, publicKey, extensions);
  const signature = encode(0x03, Buffer.from([0]), sign('sha256', signed, signer));
  const base64 = sequence(signed, algorithm, signature).toString('base64');
  return `-----BEGIN CERTIFICATE-----\n${base64.match(/.{1,64}/g)!.join('\n')}\n-----END CERTIFICATE-----\n`;
}

export const ecKey = (namedCurve = 'prime256v1'): KeyObject => generateKeyPairSync('ec', { namedCurve }).privateKey;

/** An RSA key whose exponent is slightly larger than the usual one. */
export const rsaKey = (): KeyObject =>
  generateKeyPairSync('rsa', { modulusLength: 2048, publicExponent: 65_539 }).privateKey;

/**
 * A server's certificates: its own, and those of `count - 1` authorities. `root` has issued the last one.
 *
 * @param options `names`: how many names the server's certificate has. `constraints`: how many names each authority
 *   excludes.
 */
export function createChain(
  host: string,
  count: number,
  authorityKey: () => KeyObject = ecKey,
  { names = 1, constraints = 0 } = {},
) {
  const keys = [ecKey(), ...Array.from({ length: count }, () => authorityKey())];
  const hosts = Array.from({ length: names }, (_, index) => (index === 0 ? host : `${index}.${host}`));
  const excluded = Array.from({ length: constraints }, (_, index) => `${index}.example`);
  const ofAuthority = [IS_AUTHORITY, ...(constraints > 0 ? [excludes(excluded)] : [])];
  const certificates = keys.map((key, level) =>
    issue(
      level,
      Math.min(level + 1, count),
      key,
      keys[Math.min(level + 1, count)]!,
      level === 0 ? [isFor(hosts)] : ofAuthority,
    ),
  );
  const root = certificates.pop()!;
  return { cert: certificates.join(''), key: keys[0]!.export({ format: 'pem', type: 'pkcs8' }) as string, root };
}
