/** Whether a name is this domain or one of its subdomains. */
export function isSameOrUnder(name: string, domain: string): boolean {
  return name === domain || name.endsWith(`.${domain}`);
}
