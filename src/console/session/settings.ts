/** How users sign in to this server, from `/console/config.json`. */
export type SignIn =
  | { kind: 'oidc'; issuer: string; clientId: string; scopes: string; audience: string | null }
  | { kind: 'development' }
  | { kind: 'token' };

export type Settings = { version: string; signIn: SignIn; hasTestPayments: boolean; hasExplorer: boolean };

export async function loadSettings(): Promise<Settings> {
  const response = await fetch('/console/config.json');
  if (!response.ok) throw new Error(`The server returned ${response.status} for the console’s settings.`);
  return (await response.json()) as Settings;
}
