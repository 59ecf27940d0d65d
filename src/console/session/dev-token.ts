export type DevSignIn = { subject: string; tier?: string; email?: string };

/** Gets a token from the development server. @throws Error with a message for the user. */
export async function mintDevToken(signIn: DevSignIn): Promise<string> {
  const response = await fetch('/console/dev-token', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(signIn),
  }).catch(() => undefined);
  if (response?.ok) return ((await response.json()) as { token: string }).token;
  const body = (await response?.json().catch(() => undefined)) as { errors?: { message: string }[] } | undefined;
  throw new Error(body?.errors?.[0]?.message ?? 'Can’t reach the server. Is it running?');
}
