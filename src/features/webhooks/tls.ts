import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { z } from 'zod';
import type { WebhookTls } from '../../delivery/send/webhook-credentials.ts';
import { AppError, invalidField } from '../../errors.ts';
import { MASK } from '../../secrets/mask.ts';
import { isMasked, neededAgain } from '../../secrets/masked-secrets.ts';
import { isTooLarge, LARGEST_RSA_KEY } from '../../secrets/private-key.ts';

/** A client certificate and a certificate authority as given by the caller. Null removes them. */
export type TlsInput = {
  clientCertificate?: { certificate: string; privateKey?: string | null | undefined } | null | undefined;
  certificateAuthority?: string | null | undefined;
};

const MAX_PEM_LENGTH = 16_384;
/** What TLS servers accept from clients. OpenSSL can also read kinds of keys whose signatures take a second. */
const KEY_TYPES: readonly (string | undefined)[] = ['rsa', 'rsa-pss', 'ec', 'ed25519', 'ed448'];
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

const pem = z.string().max(MAX_PEM_LENGTH, `Must be at most ${MAX_PEM_LENGTH} characters.`);

/** Checks the size of a client certificate and its key. */
export const clientCertificateInput = z.strictObject({ certificate: pem, privateKey: pem.nullish() });

/** The shape of `TlsInput`. Its contents are checked by `changeTls`. */
export const tlsShape = {
  clientCertificate: clientCertificateInput.nullish(),
  certificateAuthority: pem.nullish(),
};

/** As the API returns it: certificates are public, and private keys are masked. */
export function shownTls({ clientCertificate, ...rest }: WebhookTls): WebhookTls {
  if (!clientCertificate) return rest;
  return { ...rest, clientCertificate: { ...clientCertificate, privateKey: MASK } };
}

/**
 * Applies changes to a webhook's client certificate and certificate authority. A private key that is omitted or sent
 * back masked stays unchanged.
 *
 * @throws AppError `VALIDATION_FAILED` with pointers: for text that isn't PEM, a certificate that has expired, a key of
 *   another kind, that is too large, or that belongs to another certificate, or a kept key although the webhook's URL
 *   has changed.
 */
export function changeTls(stored: WebhookTls, changes: TlsInput, isUrlChanged: boolean, now: Date): WebhookTls {
  const certificateAuthority =
    changes.certificateAuthority === undefined
      ? stored.certificateAuthority
      : (changes.certificateAuthority ?? undefined);
  if (changes.certificateAuthority) readCertificates('/certificateAuthority', changes.certificateAuthority, now);
  const clientCertificate =
    changes.clientCertificate === undefined ? stored.clientCertificate : toStore(changes.clientCertificate);
  const isKept = isOmitted(changes.clientCertificate?.privateKey);
  if (clientCertificate && isKept && isUrlChanged)
    throw new AppError('VALIDATION_FAILED', { fields: [neededAgain('/clientCertificate/privateKey', 'URL')] });
  return { ...(clientCertificate && { clientCertificate }), ...(certificateAuthority && { certificateAuthority }) };

  function toStore(given: NonNullable<TlsInput['clientCertificate']> | null): WebhookTls['clientCertificate'] {
    if (!given) return undefined;
    const [first] = readCertificates('/clientCertificate/certificate', given.certificate, now);
    const privateKey = isOmitted(given.privateKey) ? stored.clientCertificate?.privateKey : given.privateKey;
    if (privateKey === undefined)
      throw invalidField('/clientCertificate/privateKey', 'Send the private key of the certificate, in PEM format.');
    if (!first!.checkPrivateKey(readPrivateKey(privateKey)))
      throw invalidField('/clientCertificate/privateKey', 'This private key belongs to another certificate.');
    return { certificate: given.certificate, privateKey };
  }
}

function isOmitted(privateKey: string | null | undefined): privateKey is null | undefined {
  return privateKey === undefined || privateKey === null || isMasked(privateKey);
}

/**
 * The certificates in a text, at least one. The first is the one that a client presents. Many files have both a
 * certificate and its key, but certificates are shown in full, so a key among them would be shown as well.
 */
function readCertificates(pointer: string, text: string, now: Date): X509Certificate[] {
  if (text.includes('PRIVATE KEY'))
    throw invalidField(pointer, 'Must contain only certificates, which are shown in full. Remove the private key.');
  const found = (text.match(CERTIFICATE) ?? []).map((block) => {
    try {
      return new X509Certificate(block);
    } catch {
      throw invalidField(pointer, 'This certificate can’t be read.');
    }
  });
  if (found.length === 0)
    throw invalidField(pointer, 'Must be one or more certificates in PEM format (-----BEGIN CERTIFICATE-----).');
  const [expired] = found.filter(({ validToDate }) => validToDate < now);
  if (expired)
    throw invalidField(pointer, `This certificate expired on ${expired.validToDate.toISOString().slice(0, 10)}.`);
  return found;
}

function readPrivateKey(text: string): KeyObject {
  const pointer = '/clientCertificate/privateKey';
  const key = parsePrivateKey(text);
  if (!key) throw invalidField(pointer, 'Must be a private key in PEM format that isn’t encrypted with a passphrase.');
  if (!KEY_TYPES.includes(key.asymmetricKeyType)) throw invalidField(pointer, 'Must be an RSA, ECDSA, or EdDSA key.');
  if (isTooLarge(key)) throw invalidField(pointer, `An RSA key can have ${LARGEST_RSA_KEY}.`);
  return key;
}

function parsePrivateKey(text: string): KeyObject | undefined {
  try {
    return createPrivateKey(text);
  } catch {
    return undefined;
  }
}
