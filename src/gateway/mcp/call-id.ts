import { randomBytes } from 'node:crypto';

/**
 * The IDs that paid calls have at the upstream. If an upstream got the buyer's ID, a free message with the same ID could
 * take the call's result, or cancel the call after the work is done. So the upstream gets an ID that nobody else knows.
 *
 * It contains the buyer's ID, so any process can restore it, also in a stream that the buyer opens later. It has no
 * characters that JSON encoders escape.
 */
const START = 'tollgate_call_';
const RANDOM_BYTES = 16;
/** The longest ID that buyers can give a call, in bytes of JSON. */
export const MAX_ID_BYTES = 255;
const QUOTED = /"tollgate_call_[\w-]{22}_[\w-]{1,340}"/g;
/** Where the buyer's ID starts in a quoted ID. */
const ID_AT = 1 + START.length + 22 + 1;
/**
 * An ID as JSON, one character for each byte. Anyone can write a string that looks like an ID, and parsing what is in it
 * would take an error for each that isn't JSON: a second for a few megabytes.
 */
const JSON_ID =
  /^(?:"(?:[^"\\\p{Cc}]|[\x7f-\x9f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/u;
/** The end of a text that the rest of an ID could follow. */
const MAX_QUOTED_CHARACTERS = 2 + START.length + 22 + 1 + 340;
const UNFINISHED = /^"[\w-]*$/;

/** The ID of a JSON-RPC request (https://www.jsonrpc.org/specification#request_object). */
export type RpcId = string | number;

export const isRpcId = (id: unknown): id is RpcId => typeof id === 'string' || typeof id === 'number';

/** @param id the buyer's ID, as JSON of at most `MAX_ID_BYTES`. */
export function createCallId(id: string): string {
  return `${START}${randomBytes(RANDOM_BYTES).toString('base64url')}_${Buffer.from(id).toString('base64url')}`;
}

/** Whether a value looks like an ID that `createCallId` returns. */
export const isCallId = (value: unknown): boolean => typeof value === 'string' && value.startsWith(START);

/**
 * Replaces a call's ID with the buyer's, in all strings that are equal to it. Changes the response in place: it can be
 * large, and the buyer's ID is always shorter.
 */
export function restoreId(response: Buffer, callId: string): Buffer {
  const quoted = `"${callId}"`;
  const own = Buffer.from(buyersId(quoted), 'latin1');
  let [end, from] = [0, 0];
  for (let at = response.indexOf(quoted); at >= 0; at = response.indexOf(quoted, from)) {
    response.copyWithin(end, from, at);
    end += at - from;
    end += own.copy(response, end);
    from = at + quoted.length;
  }
  response.copyWithin(end, from);
  return response.subarray(0, end + response.length - from);
}

/** Replaces the IDs of all calls in a stream. `end` returns what is left when the stream has ended. */
export function createIdRestorer() {
  let held = '';
  return {
    restore(chunk: Buffer): Buffer {
      // Each byte is one character, so characters that are cut in half stay as they are.
      const text = (held + chunk.toString('latin1')).replace(QUOTED, buyersId);
      const heldFrom = unfinishedFrom(text);
      held = text.slice(heldFrom);
      return Buffer.from(text.slice(0, heldFrom), 'latin1');
    },
    end: () => Buffer.from(held, 'latin1'),
  };
}

/** Where the start of an ID whose end hasn't arrived begins, or the length of the text. */
function unfinishedFrom(text: string): number {
  const at = text.lastIndexOf('"');
  if (at < 0 || text.length - at >= MAX_QUOTED_CHARACTERS) return text.length;
  const rest = text.slice(at);
  const isPossible = UNFINISHED.test(rest) && (rest.startsWith(`"${START}`) || `"${START}`.startsWith(rest));
  return isPossible ? at : text.length;
}

/**
 * @param quoted what `QUOTED` matches.
 * @returns the buyer's ID as JSON, one character for each byte. Other strings stay as they are.
 */
function buyersId(quoted: string): string {
  const json = Buffer.from(quoted.slice(ID_AT, -1), 'base64url').toString('latin1');
  return JSON_ID.test(json) ? json : quoted;
}
