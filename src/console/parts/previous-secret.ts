/** The time until which requests are also signed with the previous secret; undefined if it has passed. */
export function previousSecretEnd(
  expiresAt: string | null | undefined,
  nowMilliseconds = Date.now(),
): string | undefined {
  if (!expiresAt || Date.parse(expiresAt) <= nowMilliseconds) return undefined;
  return expiresAt;
}
