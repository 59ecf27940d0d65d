import fc from 'fast-check';
import ipaddr from 'ipaddr.js';

/** Every range that must never be reached, from IANA's registries and from cloud providers. */
export const DENIED_IPV4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4', '255.255.255.255/32', '168.63.129.16/32', '100.100.100.200/32', '192.0.0.192/32'],
];
export const DENIED_IPV6 = [
  ...['::/128', '::1/128', '::/96', '::/8', '::ffff:0:0:0/96', '64:ff9b::/96', '64:ff9b:1::/48', '100::/64', '200::/7'],
  ...['400::/6', '800::/5', '1000::/4', '2001::/32', '2001:2::/48', '2001:10::/28', '2001:20::/28', '2001:db8::/32'],
  ...['2002::/16', '3fff::/20', '4000::/3', '5f00::/16', '6000::/3', '8000::/3', 'a000::/3', 'c000::/3', 'e000::/4'],
  ...['f000::/5', 'f800::/6', 'fc00::/7', 'fd00:ec2::254/128', 'fe00::/9', 'fe80::/10', 'fec0::/10', 'ff00::/8'],
];

/** Public addresses, including the ends of their blocks. */
export const PUBLIC_ADDRESSES = [
  ...['1.1.1.1', '8.8.8.8', '9.255.255.255', '11.0.0.0', '93.184.216.34', '100.63.255.255', '100.128.0.0'],
  ...['126.255.255.255', '128.0.0.1', '168.63.129.15', '168.63.129.17', '169.253.255.255', '169.255.0.0'],
  ...['172.15.255.255', '172.32.0.0', '192.0.1.0', '192.167.255.255', '192.169.0.0', '223.255.255.255'],
  ...['2001:4860:4860::8888', '2606:4700:4700::1111', '2620:fe::fe', '2a00:1450:4001:81b::200e', '::ffff:8.8.8.8'],
];

/** URLs that parsers, filters, and resolvers are known to disagree on. None of them should reach a server. */
export function hostileUrls(port: number): string[] {
  const ipv4 = ['127.0.0.1', '127.1', '0x7f000001', '2130706433', '0177.0.0.1', '0x7f.1', '127.0.0.1.', '0', '0.1.2.3'];
  const disguised = [
    '127。0。0。1',
    '１２７.0.0.1',
    '%31%32%37.0.0.1',
    'ok.example@127.0.0.1',
    '@127.0.0.1',
    '127.0.0.1\t',
  ];
  const names = ['localhost', 'localhost.', 'LOCALHOST', 'app.localhost', 'ip6-localhost', 'metadata.google.internal'];
  const ipv6 = ['[::1]', '[::]', '[0:0:0:0:0:0:0:1]', '[::ffff:7f00:1]', '[::ffff:127.0.0.1]', '[::127.0.0.1]'];
  const translated = ['[::ffff:0:127.0.0.1]', '[64:ff9b::a9fe:a9fe]', '[64:ff9b:1::a9fe:a9fe]', '[2002:7f00:1::]'];
  const teredo = ['[2001:0:4136:e378:8000:63bf:3fff:fdd2]', '[fe80::1%25lo]', '[fe80::1]', '[fec0::1]', '[ff02::1]'];
  const cloud = [
    '169.254.169.254',
    '169.254.170.2',
    '100.100.100.200',
    '192.0.0.192',
    '168.63.129.16',
    '[fd00:ec2::254]',
  ];
  const reserved = ['172.31.255.255', '198.18.0.1', '255.255.255.255', '10.0.0.1', '192.168.1.1', '100.64.0.1'];
  const hosts = [...ipv4, ...disguised, ...names, ...ipv6, ...translated, ...teredo, ...cloud, ...reserved];
  return [
    ...hosts.flatMap((host) => [`http://${host}:${port}/`, `https://${host}:${port}/`, `https://${host}/`]),
    ...[`http:/\\127.0.0.1:${port}/`, `https:\\\\127.0.0.1:${port}/`, `https:127.0.0.1:${port}/`],
    ...[`https:///127.0.0.1:${port}/`, `//127.0.0.1:${port}/`, 'file:///etc/passwd', 'gopher://127.0.0.1/', 'data:,x'],
    ...[
      `https://127.0.0.1:${port}#@example.com/`,
      `https://127.0.0.1:${port}?@example.com/`,
      `https://[::1]:${port}#x`,
    ],
  ];
}

/** Arbitrary addresses in a range. */
export function addressIn(cidr: string): fc.Arbitrary<ipaddr.IPv4 | ipaddr.IPv6> {
  const [network, bits] = ipaddr.parseCIDR(cidr);
  const bytes = network.toByteArray();
  const size = BigInt(bytes.length * 8);
  const base = BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
  return fc.bigInt({ min: 0n, max: (1n << (size - BigInt(bits))) - 1n }).map((host) => {
    const hex = (base | host).toString(16).padStart(bytes.length * 2, '0');
    return ipaddr.fromByteArray([...Buffer.from(hex, 'hex')]);
  });
}

/** The ways to write an address as a URL host. Not all parsers accept all of them. */
export function spellings(address: ipaddr.IPv4 | ipaddr.IPv6): string[] {
  return address.kind() === 'ipv4' ? ipv4Spellings(address.toByteArray()) : ipv6Spellings(address as ipaddr.IPv6);
}

function ipv4Spellings(octets: number[]): string[] {
  const [a, b, c, d] = octets as [number, number, number, number];
  const dotted = octets.join('.');
  const number = Buffer.from(octets).readUInt32BE();
  const hex = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  const shorter = [`${a}.${b}.${(c << 8) | d}`, `${a}.${(b << 16) | (c << 8) | d}`, String(number)];
  const radix = [`0x${number.toString(16)}`, octets.map((octet) => `0${octet.toString(8)}`).join('.')];
  const mixed = [`0X${a.toString(16).toUpperCase()}.${b}.${c}.${d}`, `${dotted}.`, `user@${dotted}`];
  const fullWidth = dotted.replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit)));
  const encoded = [...dotted].map((character) => `%${character.charCodeAt(0).toString(16)}`).join('');
  const ipv6 = [`::ffff:${dotted}`, `::FFFF:${hex}`, `0:0:0:0:0:ffff:${hex}`, `::${dotted}`, `::ffff:0:${dotted}`];
  const translated = [`64:ff9b::${hex}`, `64:ff9b:1::${dotted}`, `2002:${hex}::`];
  const bracketed = [...ipv6, ...translated].map((text) => `[${text}]`);
  return [dotted, ...shorter, ...radix, ...mixed, fullWidth, dotted.replaceAll('.', '。'), encoded, ...bracketed];
}

function ipv6Spellings(address: ipaddr.IPv6): string[] {
  const text = address.toString();
  const full = address.parts.map((part) => part.toString(16).padStart(4, '0')).join(':');
  return [text, full, full.toUpperCase(), `${text}%25lo`].map((spelling) => `[${spelling}]`);
}
