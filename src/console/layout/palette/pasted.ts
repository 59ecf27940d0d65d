import type { FoundItem, FoundType } from './found-items.ts';

/** What a text in the search field stands for. Everything except `text` is looked up exactly, without a pause. */
export type Pasted =
  | { kind: 'text' | 'hash' | 'wallet'; query: string }
  | { kind: 'id'; query: string; type: FoundType }
  /** The ID of something without a page of its own. */
  | { kind: 'related'; id: string; to: 'members' | 'account' | 'delivery' }
  /** A whole API key. Only its last four characters are searched for. */
  | { kind: 'apiKey'; query: string; prefix: string }
  | { kind: 'signingSecret' };

/** The type of item for each ID prefix. A test compares them with `src/ids.ts`. */
export const TYPES_BY_PREFIX: Readonly<Record<string, FoundType | (Pasted & { kind: 'related' })['to']>> = {
  proj: 'PROJECT',
  pay: 'PAYMENT',
  cus: 'CUSTOMER',
  ep: 'ENDPOINT',
  wh: 'WEBHOOK',
  con: 'CONNECTOR',
  dlv: 'DELIVERY',
  evt: 'EVENT',
  key: 'API_KEY',
  rpl: 'REPLAY',
  ntc: 'NOTICE',
  aud: 'AUDIT_ENTRY',
  mem: 'members',
  inv: 'members',
  trf: 'members',
  usr: 'account',
  vwr: 'account',
  att: 'delivery',
};

const ID = /^([a-z]{2,4})_[0-7][0-9a-hjkmnp-tv-z]{25}$/;
const HASH = /^0x[0-9a-f]{64}$/i;
const WALLET = /^0x[0-9a-f]{40}$/i;
/** In an address of the console, a block explorer, or a log line. The last one is the most specific. */
const INSIDE = /0x[0-9a-f]{64}(?![0-9a-f])|0x[0-9a-f]{40}(?![0-9a-f])|\b[a-z]{2,4}_[0-7][0-9a-hjkmnp-tv-z]{25}\b/gi;
const API_KEY = /^(tg_(?:live|test)_).{4,}(.{4})$/;
const SIGNING_SECRET = /^whsec_.{8}/;

/** Recognizes IDs, hashes, wallets, and secrets, also in a pasted URL and within quotes. */
export function readPasted(text: string): Pasted {
  const trimmed = text.trim().replaceAll(/^["'`<([]+|["'`>)\],;.]+$/g, '');
  const key = API_KEY.exec(trimmed);
  if (key) return { kind: 'apiKey', prefix: key[1]!, query: key[2]! };
  if (SIGNING_SECRET.test(trimmed)) return { kind: 'signingSecret' };
  const value = trimmed.includes('://') ? (trimmed.match(INSIDE)?.at(-1) ?? trimmed) : trimmed;
  const withPrefix = /^[0-9a-f]{64}$/i.test(value) ? `0x${value}` : value;
  if (HASH.test(withPrefix)) return { kind: 'hash', query: withPrefix };
  if (WALLET.test(value)) return { kind: 'wallet', query: value };
  const id = value.toLowerCase();
  const type = TYPES_BY_PREFIX[ID.exec(id)?.[1] ?? ''];
  if (type === 'members' || type === 'account' || type === 'delivery') return { kind: 'related', id, to: type };
  return type ? { kind: 'id', query: id, type } : { kind: 'text', query: trimmed };
}

/** Whether a result is what was pasted. The last four characters of an API key may also be part of a name. */
export function isMeant(pasted: Pasted, item: FoundItem): boolean {
  return (
    pasted.kind !== 'apiKey' || (item.type === 'API_KEY' && item.label.endsWith(`(${pasted.prefix}…${pasted.query})`))
  );
}
