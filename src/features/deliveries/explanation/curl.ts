import { isAuthenticating } from '../../../delivery/send/recorded-exchange.ts';
import { scrub } from '../../../secrets/redact.ts';

type CurlVariable = { name: string; description: string };
export type CurlCommand = { command: string; variables: CurlVariable[] };

/** A request as it is sent, with lowercase header names. */
export type SentRequest = { method: string; url: string; headers: Readonly<Record<string, string>>; body?: string };

export type NamedSecret = { name: string; value: string };

/** Part of a shell word: literal text, or a variable's value. */
type Piece = { text: string } | { variable: string };

const WEBHOOK_SECRET: CurlVariable = {
  name: 'WEBHOOK_SECRET',
  description: 'The webhook’s signing secret, `whsec_…`.',
};

const WEBHOOK_URL: CurlVariable = {
  name: 'WEBHOOK_URL',
  description: 'The webhook’s URL, which may contain a secret.',
};

// Uses `od` and `tr`, because `-macopt key:` would read the key as text.
const SIGN = [
  'timestamp=$(date +%s)',
  `key=$(printf %s "\${WEBHOOK_SECRET#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \\n')`,
  'signature=$(printf %s "$id.$timestamp.$body" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | openssl base64 -A)',
];

/**
 * A POSIX shell command that sends a webhook's request again. It creates a new Standard Webhooks signature with the
 * secret in `$WEBHOOK_SECRET`, because servers reject old timestamps.
 *
 * @param request its `webhook-timestamp` and `webhook-signature` are replaced.
 * @param options `hidesUrl`: whether to also replace the URL with `$WEBHOOK_URL`. `ownHeaders`: the names of the
 *   webhook's custom headers. Each value is replaced with a variable.
 */
export function webhookCurl(
  { method, url, headers, body = '' }: SentRequest,
  { hidesUrl = false, ownHeaders = [] }: { hidesUrl?: boolean; ownHeaders?: readonly string[] } = {},
): CurlCommand {
  const { 'webhook-id': id = '', ...rest } = headers;
  const fresh = {
    'webhook-id': [{ variable: 'id' }],
    'webhook-timestamp': [{ variable: 'timestamp' }],
    'webhook-signature': [{ text: 'v1,' }, { variable: 'signature' }],
  };
  const plain = Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, [{ text: value }]]));
  const setUp = [`id=${quote([{ text: id }])}`, ...SIGN];
  const own = ownHeaders.map((name) => [name, headerVariable(name)] as const);
  const secret = Object.fromEntries(own.map(([name, variable]) => [name, [{ variable: variable.name }]]));
  const variables = [...(hidesUrl ? [WEBHOOK_URL] : []), WEBHOOK_SECRET, ...own.map(([, variable]) => variable)];
  const address: Piece = hidesUrl ? { variable: WEBHOOK_URL.name } : { text: url };
  const parts = { method, url: [address], headers: { ...secret, ...plain, ...fresh }, body: [{ text: body }] };
  return { command: assemble(parts, [...variables, ...setUp]), variables };
}

/**
 * A POSIX shell command that sends any request again. Each secret is replaced with a variable named after its field. If
 * a secret is encoded or only partly present, the whole header or URL is replaced.
 *
 * @returns undefined if the body contains a secret in a different form, because then the body can't be shown.
 */
export function connectorCurl(request: SentRequest, secrets: readonly NamedSecret[]): CurlCommand | undefined {
  const values = secrets.map(({ value }) => value);
  const variables = new Map<string, CurlVariable>();
  const use = (name: string, description: string): Piece => {
    variables.set(name, { name, description });
    return { variable: name };
  };

  /** Separates secrets from the rest of the text. Undefined if a secret would be left in it. */
  function separate(text: string): Piece[] | undefined {
    const found = secrets
      .filter(({ value }) => value !== '' && text.includes(value))
      .toSorted((one, other) => other.value.length - one.value.length)[0];
    if (!found) return scrub(text, values) === text ? [{ text }] : undefined;
    const at = text.indexOf(found.value);
    const before = separate(text.slice(0, at));
    const after = separate(text.slice(at + found.value.length));
    if (!before || !after) return undefined;
    return [...before, use(variableName(found.name), `The connector’s \`${found.name}\`.`), ...after];
  }

  function header(name: string, value: string): Piece[] {
    const pieces = separate(value);
    const isCovered = pieces && (!isAuthenticating(name) || pieces.some((piece) => 'variable' in piece));
    if (isCovered) return pieces;
    const variable = headerVariable(name);
    return [use(variable.name, variable.description)];
  }

  const body = separate(request.body ?? '');
  if (!body) return undefined;
  const url = separate(request.url) ?? [use('REQUEST_URL', 'The request’s URL, which contains a secret.')];
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, header(name, value)]),
  );
  const parts = { method: request.method, url, headers, ...(request.body !== undefined && { body }) };
  const command = assemble(parts, [...variables.values()]);
  return { command, variables: [...variables.values()] };
}

type Parts = { method: string; url: Piece[]; headers: Record<string, Piece[]>; body?: Piece[] };

/** Uses a subshell so that variables don't leak into the user's shell and a missing variable ends only the subshell. */
function assemble({ method, url, headers, body }: Parts, setUp: readonly (CurlVariable | string)[]): string {
  const options = [
    // curl sends this header by default; this service doesn't.
    `--header 'accept:'`,
    ...Object.entries(headers).map(([name, value]) => `--header ${quote([{ text: `${name}: ` }, ...value])}`),
    ...(body ? ['--data-binary @-'] : []),
  ];
  const curl = [`curl --globoff --path-as-is --http1.1 --include --request ${method} --url ${quote(url)}`, ...options];
  const lines = [
    ...setUp.flatMap((step) => (typeof step === 'string' ? [] : [requireVariable(step)])),
    ...(body ? [`body=${quote(body)}`] : []),
    ...setUp.filter((step) => typeof step === 'string'),
    `${body ? 'printf %s "$body" | ' : ''}${curl.join(' \\\n    ')}`,
  ];
  return `(\n${lines.map((line) => `  ${line}\n`).join('')})`;
}

/** Without what is special between double quotes, including `!`: interactive shells replace it with an earlier command. */
function requireVariable({ name, description }: CurlVariable): string {
  return `: "\${${name}:?${description.replaceAll(/[`"'$\\!]/g, '')}}"`;
}

/** One shell word, no matter what the text contains. Between single quotes, only the single quote is special. */
function quote(pieces: readonly Piece[]): string {
  const words = pieces
    .filter((piece) => 'variable' in piece || piece.text !== '')
    .map((piece) => ('variable' in piece ? `"$${piece.variable}"` : `'${piece.text.replaceAll("'", `'\\''`)}'`));
  return words.join('') || "''";
}

function headerVariable(name: string): CurlVariable {
  return { name: `HEADER_${variableName(name)}`, description: `Value of the \`${name}\` header.` };
}

/** `botToken` → `BOT_TOKEN`, `dd-api-key` → `DD_API_KEY`. */
function variableName(name: string): string {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .toUpperCase();
}
