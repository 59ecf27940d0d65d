/** How people sign in here, as `/console/config.json` tells it. */
export type SignIn =
  | { kind: 'oidc'; issuer: string; clientId: string; scopes: string; audience: string | null }
  | { kind: 'development' }
  | { kind: 'token' };

export type Settings = { version: string; signIn: SignIn };

export async function loadSettings(): Promise<Settings> {
  const answer = await fetch('/console/config.json');
  if (!answer.ok) throw new Error(`The server answered ${answer.status} when asked for the settings of the console.`);
  return (await answer.json()) as Settings;
}
