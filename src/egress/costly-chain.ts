import type { KeyObject, X509Certificate } from 'node:crypto';
import { countNames } from './certificate-names.ts';

/** Authorities need at most four or five. */
const MAX_CERTIFICATES = 10;
/** The exponent of practically all RSA keys. */
const MAX_RSA_EXPONENT = 65_537n;
/** The curves that authorities use. */
const CURVES = /^(prime256v1|secp384r1|secp521r1|secp256k1|brainpoolP\d+[rt]1)$/;
/** Several times as many as authorities put in one certificate. */
const MAX_NAMES = 1_000;
/** Each takes less than a microsecond. */
const MAX_NAME_CHECKS = 10_000;
const QUICK_TYPES = /^(ed25519|ed448|ml-dsa-.*|slh-dsa-.*)$/;

/** Whether checking a server's certificates is costly. A server chooses how many it sends, and their keys and names. */
export function isCostlyChain(first: X509Certificate | undefined): boolean {
  let names = 0;
  let nameChecks = 0;
  let certificate = first;
  for (let count = 1; certificate; count++) {
    if (count > MAX_CERTIFICATES || hasCostlyKey(certificate)) return true;
    const counts = namesOf(certificate);
    nameChecks += names * counts.constraints;
    names += counts.names;
    if (names > MAX_NAMES || nameChecks > MAX_NAME_CHECKS) return true;
    certificate = certificate.issuerCertificate;
  }
  return false;
}

/** A certificate that can't be read counts as one with too many names. */
function namesOf(certificate: X509Certificate): { names: number; constraints: number } {
  try {
    return countNames(certificate);
  } catch {
    return { names: Number.POSITIVE_INFINITY, constraints: 0 };
  }
}

/** Whether checking signatures with a certificate's key is costly. */
function hasCostlyKey(certificate: X509Certificate): boolean {
  try {
    return isCostly(certificate.publicKey);
  } catch {
    // A key that isn't supported, for example, on a curve with its own parameters.
    return true;
  }
}

function isCostly({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean {
  const { publicExponent = 0n, namedCurve = '' } = asymmetricKeyDetails ?? {};
  switch (asymmetricKeyType) {
    case 'rsa':
    case 'rsa-pss':
      return publicExponent > MAX_RSA_EXPONENT;
    case 'ec':
      return !CURVES.test(namedCurve);
    default:
      return !QUICK_TYPES.test(asymmetricKeyType ?? '');
  }
}
