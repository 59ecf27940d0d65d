import ipaddr from 'ipaddr.js';
import { type Cidr, parseAddress, rangesOverlap } from './address.ts';

/** Targets that are allowed even if they aren't public or don't use HTTPS. */
export type EgressAllow = {
  /** Whether an entry covers this address and port. */
  permits: (address: string, port: number) => boolean;
  /**
   * Whether a host name on this port may be permitted, depending on the address it resolves to. `isLocal` names belong
   * to this machine or the local network. Entries that allow every port on this machine cover only local names.
   */
  coversPort: (port: number, isLocal: boolean) => boolean;
  /** Whether any entry is for this port alone, rather than for every port. */
  namesPort: (port: number) => boolean;
  /** All entries, as written. */
  entries: string[];
  /** The entries that include this machine, as written. */
  loopbackEntries: string[];
  /** The entries that include private networks (and loopback), as written. */
  privateEntries: string[];
};

type Entry = { text: string; range: Cidr; port: number | undefined };

const ENTRY_PATTERN = /^(?:\[([0-9a-f:.]+)\]|([0-9.]+))\/(\d{1,3}):(\*|\d{1,5})$/i;

const cidrs = (...texts: string[]): Cidr[] => texts.map((text) => ipaddr.parseCIDR(text));

// Cloud metadata services give credentials to any caller, and the translation ranges can express every IPv4 address,
// including those of metadata services.
const NEVER_ALLOWED = cidrs(
  ...['169.254.0.0/16', 'fe80::/10', '168.63.129.16/32', '100.100.100.200/32', '192.0.0.192/32'],
  // In IPv6, they are among the private addresses: AWS (all of its local services), Google Cloud, Oracle, Scaleway,
  // Akamai, and Alibaba. The private networks of Google Cloud start with the same bits as its metadata service.
  ...['fd00:ec2::/32', 'fd20:ce::254/128', 'fd00:c1::a9fe:a9fe/128', 'fd00:42::42/128'],
  ...['fd00:a9fe:a9fe::1/128', 'fd00:100::100:200/128'],
  ...['::ffff:0:0/96', '::ffff:0:0:0/96', '64:ff9b::/96', '64:ff9b:1::/48', '2001::/32', '2002::/16'],
);
const LOOPBACK = cidrs('0.0.0.0/8', '127.0.0.0/8', '::/127');
const PRIVATE = [...LOOPBACK, ...cidrs('10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7')];

/**
 * Parses a comma-separated list of `<network>/<prefix length>:<port>`. The port is a number or `*`, and IPv6 networks
 * are in brackets: `127.0.0.1/32:4010, 10.0.0.0/8:*, [::1]/128:4010`. An empty list allows nothing.
 *
 * @throws Error that names the entry and the problem. Link-local and metadata addresses are never accepted.
 */
export function parseEgressAllow(text: string): EgressAllow {
  const entries = text.trim() === '' ? [] : text.split(',').map((entry) => parseEntry(entry.trim()));
  const within = (ranges: Cidr[]) =>
    entries.filter((entry) => ranges.some((range) => rangesOverlap(range, entry.range))).map((entry) => entry.text);
  const coversPort = (entry: Entry, port: number) => entry.port === undefined || entry.port === port;
  const isThisMachine = ({ range }: Entry) => LOOPBACK.some((loopback) => contains(loopback, range));
  return {
    permits(addressText, port) {
      const address = parseAddress(addressText);
      if (!address) return false;
      return entries.some((entry) => coversPort(entry, port) && rangesOverlap([address, 128], entry.range));
    },
    coversPort: (port, isLocal) =>
      entries.some(
        (entry) => coversPort(entry, port) && (isLocal || entry.port !== undefined || !isThisMachine(entry)),
      ),
    namesPort: (port) => entries.some((entry) => entry.port === port),
    entries: entries.map(({ text }) => text),
    loopbackEntries: within(LOOPBACK),
    privateEntries: within(PRIVATE),
  };
}

/** Combines allow-lists: permits everything that at least one of them permits. */
export function anyOf(...lists: EgressAllow[]): EgressAllow {
  return {
    permits: (address, port) => lists.some((list) => list.permits(address, port)),
    coversPort: (port, isLocal) => lists.some((list) => list.coversPort(port, isLocal)),
    namesPort: (port) => lists.some((list) => list.namesPort(port)),
    entries: lists.flatMap(({ entries }) => entries),
    loopbackEntries: lists.flatMap(({ loopbackEntries }) => loopbackEntries),
    privateEntries: lists.flatMap(({ privateEntries }) => privateEntries),
  };
}

/** The prefix length of an entry's network, in bits. */
export function prefixBitsOf(entry: string): number {
  return Number(/\/(\d+):/.exec(entry)![1]);
}

function parseEntry(text: string): Entry {
  const fail = (reason: string): never => {
    throw new Error(`Invalid egress allow-list entry "${text}": ${reason}`);
  };
  const match = ENTRY_PATTERN.exec(text);
  if (!match) return fail('use <network>/<prefix length>:<port>, such as 127.0.0.1/32:4010 or [::1]/128:4010.');
  const [, bracketed, dotted, bits, portText] = match;
  const cidr = `${bracketed ?? dotted}/${bits}`;
  if (!ipaddr.isValidCIDR(cidr) || !isCanonical((bracketed ?? dotted)!, Boolean(bracketed))) {
    return fail('the network must be an IPv4 range or a bracketed IPv6 range.');
  }
  const range = ipaddr.parseCIDR(cidr);
  const network = range[0].kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6;
  const first = network.networkAddressFromCIDR(cidr).toString();
  if (first !== range[0].toString()) return fail(`the /${bits} range starts at ${first}. Use that address.`);
  const port = portText === '*' ? undefined : Number(portText);
  if (port !== undefined && (port < 1 || port > 65_535)) return fail('the port must be between 1 and 65535.');
  if (NEVER_ALLOWED.some((forbidden) => rangesOverlap(forbidden, range))) {
    return fail('it includes link-local, cloud metadata, or translated addresses, which are never allowed.');
  }
  return { text, range, port };
}

/** Whether one range lies entirely within another. */
function contains(outer: Cidr, inner: Cidr): boolean {
  return inner[1] >= outer[1] && rangesOverlap(outer, inner);
}

/** Whether an address is IPv6 or four plain decimal octets. ipaddr.js would also accept `127.1` and octal octets. */
function isCanonical(address: string, isIpv6: boolean): boolean {
  return isIpv6 ? ipaddr.IPv6.isValid(address) : ipaddr.IPv4.isValidFourPartDecimal(address);
}
