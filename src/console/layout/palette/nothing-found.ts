import { nameOf } from './found-items.ts';
import { type Pasted, TYPES_BY_PREFIX } from './pasted.ts';

const WALLET_DIGITS = 40;
const HASH_DIGITS = 64;
const ID_CHARACTERS = 26;

/** Matches wallets and hashes that are shortened as in lists: `0x00fb…d025`. */
const SHORTENED = /^0x[0-9a-f]*(?:…|\.{3})/i;
const HEX = /^0x([0-9a-f]{6,})$/i;
const PART_OF_ID = /^([a-z]{2,4})_([0-9a-z]+)$/i;

/** Says what was not found, and why that may be. */
export function whyNothing(pasted: Pasted): string {
  switch (pasted.kind) {
    case 'id':
      return `No ${inSentence(nameOf(pasted.type))} with this ID in your projects. ${reasonFor(pasted.type)}`;
    case 'hash':
      return 'No payment with this transaction hash in your projects. A payment gets its hash when it’s settled; before that, search for the payer’s wallet.';
    case 'wallet':
      return 'No customer with this wallet in your projects. A wallet becomes a customer with its first verified payment.';
    case 'apiKey':
      return `No API key in your projects begins with “${pasted.prefix}” and ends with “${pasted.query}”. It may have been revoked.`;
    case 'signingSecret':
      return 'This looks like a signing secret, so it wasn’t searched for. Search for the webhook’s name or host.';
    case 'related':
      return pasted.to === 'delivery'
        ? 'Attempts don’t have IDs that you can search for. Search for the delivery.'
        : '';
    case 'text':
      return whyNoText(pasted.query);
  }
}

function reasonFor(type: keyof typeof REASONS | string): string {
  return REASONS[type as keyof typeof REASONS] ?? 'It may have been deleted, or it may belong to another account.';
}

const REASONS = {
  PAYMENT: 'It may belong to another account. Payments that fail verification are deleted after an hour.',
  API_KEY: 'It may have been revoked, or it may belong to another account.',
};

function whyNoText(query: string): string {
  if (SHORTENED.test(query)) return 'This is shortened. Enter the whole wallet or transaction hash.';
  const digits = HEX.exec(query)?.[1]?.length;
  if (digits) {
    return `A wallet has ${WALLET_DIGITS} characters after “0x”, and a transaction hash has ${HASH_DIGITS}. This has ${digits}.`;
  }
  const [, prefix = '', rest = ''] = PART_OF_ID.exec(query) ?? [];
  const type = TYPES_BY_PREFIX[prefix.toLowerCase()];
  if (type && rest.length !== ID_CHARACTERS) {
    return `Nothing found. IDs have ${ID_CHARACTERS} characters after “${prefix}_”, and this has ${rest.length}.`;
  }
  return 'Nothing found by this name. Payments, customers, deliveries, and events are found by ID, transaction hash, or wallet.';
}

function inSentence(name: string): string {
  return name === 'API key' ? name : name.toLowerCase();
}
