/** The headers of a call that sends an OAuth access token and expects JSON back. */
export function bearer(accessToken: string): Record<string, string> {
  return { authorization: `Bearer ${accessToken}`, accept: 'application/json' };
}
