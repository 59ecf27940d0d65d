import { z } from 'zod';
import { sentenceOf } from '../../validation.ts';
import { identifierIn } from './payment-identifier.ts';
import { SCHEME } from './terms.ts';

/** A signed transfer authorization (EIP-3009), in lowercase hex. */
type Authorization = {
  from: `0x${string}`;
  to: `0x${string}`;
  /** Atomic units. */
  value: bigint;
  /** Unix seconds. */
  validAfter: number;
  validBefore: number;
  nonce: `0x${string}`;
};

/**
 * A payment as the client sent it. `accepted` is what the client says it is paying for, but only what it signed counts.
 */
export type PresentedPayment = {
  x402Version: 1 | 2;
  network: string;
  /** Version 2 only. */
  accepted?: { amount: string; asset: string; payTo: string };
  /** The client's own identifier for the payment. Version 2 only. */
  identifier?: string | undefined;
  signature: `0x${string}`;
  authorization: Authorization;
};

export type PaymentHeader =
  | { kind: 'none' }
  | { kind: 'malformed'; message: string }
  /** The payment uses a scheme that isn't offered here. Its proof isn't read. */
  | { kind: 'unsupported'; x402Version: 1 | 2; network: string }
  | { kind: 'payment'; payment: PresentedPayment };

/** Version 2 and version 1, but the payment itself says which version it has, because clients mix the two up. */
const PAYMENT_HEADERS = ['payment-signature', 'x-payment'] as const;

const MAX_HEADER_CHARACTERS = 12_000;
/** How many different texts are read. Reading thousands of them, which fit in a header, takes 100 ms. */
const MAX_TEXTS = 8;
// Larger values aren't valid dates, but contracts accept any 256-bit number.
const MAX_SECONDS = 2n ** 53n - 1n;

const address = z
  .string()
  .regex(/^0x[0-9a-f]{40}$/i, 'must be an address')
  .transform(lowerHex);
/** The protocol asks for a decimal string, but some clients send a number, which is exact if it is a safe integer. */
const wholeNumber = (unit: string) =>
  z
    .union([z.int().nonnegative().transform(String), z.string()], `must be a whole number of ${unit}`)
    .pipe(z.string().regex(/^(0|[1-9]\d{0,77})$/, `must be a whole number of ${unit}`))
    .transform(BigInt);
const seconds = wholeNumber('seconds').transform((value) => Number(value > MAX_SECONDS ? MAX_SECONDS : value));

const proof = z.object({
  // 65 bytes for a regular account, more for a smart contract wallet.
  signature: z
    .string()
    .regex(/^0x(?:[0-9a-f]{2}){65,4096}$/i, 'must be a signature in hex')
    .transform(lowerHex),
  authorization: z.object({
    from: address,
    to: address,
    value: wholeNumber('atomic units'),
    validAfter: seconds,
    validBefore: seconds,
    nonce: z
      .string()
      .regex(/^0x[0-9a-f]{64}$/i, 'must be 32 bytes in hex')
      .transform(lowerHex),
  }),
});

const v2 = z.object({
  x402Version: z.literal(2),
  accepted: z.object({
    scheme: z.string().max(64),
    network: z.string().max(64),
    amount: z.string().max(80),
    asset: z.string().max(80),
    payTo: z.string().max(80),
  }),
  payload: z.unknown(),
  extensions: z.unknown().optional(),
});

const v1 = z.object({
  x402Version: z.literal(1),
  scheme: z.string().max(64),
  network: z.string().max(64),
  payload: z.unknown(),
});

/**
 * Reads a request's payment: `PAYMENT-SIGNATURE` (x402 version 2) or `X-PAYMENT` (version 1), both base64-encoded JSON.
 * Keeps only the fields that we understand, so nothing else can affect downstream systems. Some clients and proxies send a
 * payment in both headers, or twice. It is still one payment if what was signed is the same.
 */
export function readPaymentHeader(headers: Record<string, string | string[] | undefined>): PaymentHeader {
  const given = PAYMENT_HEADERS.flatMap((name) => headers[name] ?? []);
  // Node joins repeated headers with a comma, which doesn't occur in base64.
  const texts = new Set(given.flatMap((text) => text.split(',')).map((text) => text.trim()));
  texts.delete('');
  if (texts.size > MAX_TEXTS) return malformed('The request has too many payments. Send only one.');
  const read = Array.from(texts, readPayment);
  const bad = read.find(({ kind }) => kind === 'malformed');
  if (bad) return bad;
  const payments = read.filter((one) => one.kind === 'payment');
  const isSame = payments.every(({ payment }) => signedBy(payment) === signedBy(payments[0]!.payment));
  if (!isSame) return malformed('The request has different payments. Send only one.');
  return payments[0] ?? read[0] ?? { kind: 'none' };
}

function readPayment(text: string): PaymentHeader {
  if (text.length > MAX_HEADER_CHARACTERS) return malformed('The payment is too long.');
  const value = decode(text);
  if (value === undefined) return malformed('The payment must be a base64-encoded JSON object.');
  return 'x402Version' in value && value.x402Version === 1 ? readV1(value) : readV2(value);
}

/** What was signed. Two payments with the same authorization are the same payment. */
function signedBy({ authorization: { from, to, value, validAfter, validBefore, nonce } }: PresentedPayment): string {
  return [from, to, value, validAfter, validBefore, nonce].join(' ');
}

function readV2(value: unknown): PaymentHeader {
  const envelope = v2.safeParse(value, { error: sentenceOf });
  if (!envelope.success) return malformed(problemOf(envelope.error));
  const { accepted, payload, extensions } = envelope.data;
  const identified = identifierIn(extensions);
  if (!identified.ok) return malformed(identified.message);
  return withProof(
    accepted.scheme,
    { x402Version: 2, network: accepted.network },
    payload,
    ({ signature, authorization }) => ({
      x402Version: 2,
      network: accepted.network,
      accepted: { amount: accepted.amount, asset: accepted.asset, payTo: accepted.payTo },
      ...(identified.identifier !== undefined && { identifier: identified.identifier }),
      signature,
      authorization,
    }),
  );
}

function readV1(value: unknown): PaymentHeader {
  const envelope = v1.safeParse(value, { error: sentenceOf });
  if (!envelope.success) return malformed(problemOf(envelope.error));
  const { scheme, network, payload } = envelope.data;
  return withProof(scheme, { x402Version: 1, network }, payload, (signed) => ({ x402Version: 1, network, ...signed }));
}

/** The payload's shape depends on the scheme. */
function withProof(
  scheme: string,
  place: { x402Version: 1 | 2; network: string },
  payload: unknown,
  make: (signed: z.output<typeof proof>) => PresentedPayment,
): PaymentHeader {
  if (scheme !== SCHEME) return { kind: 'unsupported', ...place };
  const signed = proof.safeParse(payload, { error: sentenceOf });
  return signed.success
    ? { kind: 'payment', payment: make(signed.data) }
    : malformed(`payload.${problemOf(signed.error)}`);
}

function decode(text: string): object | undefined {
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(text)) return undefined;
  try {
    // Some clients send the description back in Latin-1. Everything that is kept has to be ASCII.
    const value: unknown = JSON.parse(Buffer.from(text, 'base64').toString('utf8'));
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function lowerHex(text: string): `0x${string}` {
  return text.toLowerCase() as `0x${string}`;
}

function problemOf(error: z.ZodError): string {
  const [issue] = error.issues;
  return `${issue?.path.join('.') || 'payment'}: ${issue?.message ?? 'is invalid'}`;
}

function malformed(message: string): PaymentHeader {
  return { kind: 'malformed', message };
}
