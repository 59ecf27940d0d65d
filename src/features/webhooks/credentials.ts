import { z } from 'zod';
import { sharedNow } from '../../clock.ts';
import {
  SECRET_FIELDS,
  type WebhookAuthentication,
  type WebhookCredentials,
  type WebhookHeader,
} from '../../delivery/send/webhook-credentials.ts';
import type { EgressAllow } from '../../egress/allow-list.ts';
import { AppError } from '../../errors.ts';
import { isShown, neededAgain, orMasked, refuseMasked } from '../../secrets/masked-secrets.ts';
import { redactSecret } from '../../secrets/redact.ts';
import { parseInput } from '../../validation.ts';
import { headerArray } from '../headers/header-rules.ts';
import { changeHeaders, shownHeaders } from '../headers/secret-headers.ts';
import { NO_OPENINGS } from '../urls/project-url.ts';
import { targetUrlInput, urlToStore } from '../urls/stored-url.ts';
import { headersInput } from './header-rules.ts';
import { changeTls, shownTls, type TlsInput, tlsShape } from './tls.ts';

/** Headers, authentication, and certificates as given by the caller. Masked secrets that are sent back keep their stored value. */
export type CredentialsInput = TlsInput & {
  headers?: readonly WebhookHeader[] | null | undefined;
  authentication?: ({ type: WebhookAuthentication['type'] } & Record<string, unknown>) | null | undefined;
};

export const NO_CREDENTIALS: WebhookCredentials = { headers: [], authentication: null };

export const AUTHENTICATION_TYPES = ['BASIC', 'BEARER', 'OAUTH2_CLIENT_CREDENTIALS'] as const;

/** The shape of `CredentialsInput`. Its contents are checked after masked secrets are replaced with the stored ones. */
export const credentialsShape = {
  headers: headerArray(z.strictObject({ name: z.string(), value: z.string() }))
    .meta({ default: [] })
    .nullish(),
  authentication: z.looseObject({ type: z.enum(AUTHENTICATION_TYPES) }).nullish(),
  ...tlsShape,
};

const MAX_SECRET_LENGTH = 4_096;
const VISIBLE = /^[\x21-\x7e]+$/;
const NOT_VISIBLE = "Can't contain spaces or non-ASCII characters.";

function textInput(maxLength: number) {
  return z
    .string()
    .min(1, "Can't be empty.")
    .max(maxLength, `Must be at most ${maxLength} characters.`)
    .regex(/^\P{Cc}*$/u, 'Must not contain control characters.');
}

/** Checks a webhook's authentication, with its secrets in full. */
function authenticationInput(allow: EgressAllow) {
  return z.discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('BASIC'),
      // RFC 7617 §2: the first colon ends the user name.
      username: textInput(300).regex(/^[^:]*$/, 'Must not contain a colon.'),
      password: textInput(MAX_SECRET_LENGTH),
    }),
    z.strictObject({
      type: z.literal('BEARER'),
      token: textInput(MAX_SECRET_LENGTH)
        .regex(VISIBLE, NOT_VISIBLE)
        .meta({ pattern: orMasked(VISIBLE) }),
    }),
    z.strictObject({
      type: z.literal('OAUTH2_CLIENT_CREDENTIALS'),
      tokenUrl: targetUrlInput(allow, 'WEBHOOK_ALLOW'),
      clientId: textInput(300),
      clientSecret: textInput(MAX_SECRET_LENGTH),
      // RFC 6749 §3.3.
      scope: textInput(1_000)
        .regex(
          /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/,
          'Must be scopes separated by single spaces.',
        )
        .optional(),
    }),
  ]);
}

/** The rules for authentication that don't depend on a server's configuration. */
export const AUTHENTICATION_RULES = authenticationInput(NO_OPENINGS.any);

function credentialsInput(allow: EgressAllow) {
  return z
    .strictObject({ headers: headersInput, authentication: authenticationInput(allow).nullable() })
    .superRefine(({ headers, authentication: chosen }, context) => {
      const index = chosen ? headers.findIndex(({ name }) => name.toLowerCase() === 'authorization') : -1;
      if (index === -1) return;
      const message = 'Remove this header, or set `authentication` to null: both set `Authorization`.';
      context.addIssue({ code: 'custom', path: ['headers', index, 'name'], message });
    });
}

/** Headers and authentication as the API returns them: each secret as `••••` and at most its last four characters. */
export function shownCredentials({ headers, authentication, tls }: WebhookCredentials): WebhookCredentials {
  return {
    ...(tls && { tls: shownTls(tls) }),
    headers: shownHeaders(headers),
    authentication: authentication && (redactFields(authentication) as WebhookAuthentication),
  };
}

function redactFields(authentication: WebhookAuthentication) {
  return Object.fromEntries(
    Object.entries(authentication).map(([name, value]) => [
      name,
      SECRET_FIELDS.has(name) ? redactSecret(value) : value,
    ]),
  );
}

/**
 * Creates the function that applies changes to a webhook's stored headers and authentication. `headers` replaces the whole
 * list. Omitted fields of `authentication` stay unchanged, unless its type changes, and null removes an optional field.
 *
 * @returns the function. It throws AppError `VALIDATION_FAILED` with pointers, including when a secret would be sent to
 *   a new address: every secret if the webhook's URL has changed, and the client secret if the token URL has changed.
 */
export function createCredentialsChange(allow: EgressAllow) {
  const checked = credentialsInput(allow);

  return function changeCredentials(
    stored: WebhookCredentials,
    changes: CredentialsInput,
    isUrlChanged: boolean,
  ): WebhookCredentials {
    const shown = shownCredentials(stored);
    const { headers, kept: keptHeaders } = changeHeaders(stored.headers, changes.headers, { pointer: '/headers' });
    const kept = new Set(keptHeaders);
    const authentication =
      changes.authentication === undefined ? stored.authentication : authenticationToStore(changes.authentication);
    if (authentication !== null) {
      for (const name of SECRET_FIELDS) if (isKept(name)) kept.add(`/authentication/${name}`);
    }
    const after: WebhookCredentials = parseInput(checked, { headers, authentication });
    requireAgain(after);
    const tls = changeTls(stored.tls ?? {}, changes, isUrlChanged, new Date(sharedNow()));
    return { ...after, ...(Object.keys(tls).length > 0 && { tls }) };

    function authenticationToStore(given: CredentialsInput['authentication']): Record<string, unknown> | null {
      if (!given) return null;
      const before = given.type === stored.authentication?.type ? stored.authentication : undefined;
      const merged = { ...before, ...Object.fromEntries(Object.entries(given).filter(([name]) => !isKept(name))) };
      const chosen = Object.fromEntries(
        Object.entries(merged).filter(([, value]) => value !== null && value !== undefined),
      );
      for (const name of SECRET_FIELDS) refuseMasked(`/authentication/${name}`, chosen[name]);
      const { tokenUrl } = chosen;
      if (typeof tokenUrl !== 'string') return chosen;
      const storedUrl = before?.type === 'OAUTH2_CLIENT_CREDENTIALS' ? before.tokenUrl : undefined;
      return { ...chosen, tokenUrl: urlToStore('authentication/tokenUrl', tokenUrl, storedUrl) };
    }

    /** Whether the stored value of this field of `authentication` is used, because it was omitted or its mask was sent back. */
    function isKept(name: string): boolean {
      const given = changes.authentication as Record<string, unknown> | undefined;
      const before = stored.authentication as Record<string, unknown> | null;
      if (before?.[name] === undefined || (given && given.type !== before.type)) return false;
      const masked = (shown.authentication as Record<string, unknown> | null)?.[name];
      return given?.[name] === undefined || isShown(masked, given[name]);
    }

    function requireAgain(after: WebhookCredentials): void {
      const [before, chosen] = [stored.authentication, after.authentication];
      const isTokenUrlChanged =
        before?.type === 'OAUTH2_CLIENT_CREDENTIALS' &&
        chosen?.type === 'OAUTH2_CLIENT_CREDENTIALS' &&
        before.tokenUrl !== chosen.tokenUrl;
      const titles = [...(isUrlChanged ? ['URL'] : []), ...(isTokenUrlChanged ? ['token URL'] : [])].join(', ');
      const missing = [...kept].filter(
        (pointer) => isUrlChanged || (isTokenUrlChanged && pointer.endsWith('/clientSecret')),
      );
      if (missing.length > 0) {
        throw new AppError('VALIDATION_FAILED', { fields: missing.map((pointer) => neededAgain(pointer, titles)) });
      }
    }
  };
}
