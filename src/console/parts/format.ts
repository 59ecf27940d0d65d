const LOCALE = 'en';
const MINUTE_SECONDS = 60;
const HOUR_SECONDS = 60 * MINUTE_SECONDS;
const DAY_SECONDS = 24 * HOUR_SECONDS;

/** Decimal USD with two to six decimals, never rounded: `0.000125` stays `$0.000125`. */
export function formatUsd(decimal: string): string {
  const [, sign = '', whole = '0', decimals = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(decimal) ?? [];
  const kept = decimals.replace(/0+$/, '').padEnd(2, '0');
  return `${sign}$${BigInt(whole).toLocaleString(LOCALE)}.${kept}`;
}

/** For headline figures and chart axes, where six decimals don't help: `$1,234.50`, `$12.3K`. */
export function formatUsdShort(decimal: string | number): string {
  const amount = Number(decimal);
  if (Math.abs(amount) >= 10_000) {
    return `$${amount.toLocaleString(LOCALE, { notation: 'compact', maximumFractionDigits: 1 })}`;
  }
  const decimals = amount !== 0 && Math.abs(amount) < 1 ? 4 : 2;
  return `$${amount.toLocaleString(LOCALE, { minimumFractionDigits: 2, maximumFractionDigits: decimals })}`;
}

/** For files: `512 KB`, `1.2 GB`. */
export function formatBytes(bytes: number): string {
  const [divisor, unit] = bytes < 1e6 ? [1e3, 'KB'] : bytes < 1e9 ? [1e6, 'MB'] : [1e9, 'GB'];
  return `${(bytes / divisor).toLocaleString(LOCALE, { maximumFractionDigits: unit === 'KB' ? 0 : 1 })} ${unit}`;
}

export function formatCount(count: number): string {
  return count.toLocaleString(LOCALE);
}

/** Formats a share as a percentage. Never rounds up to 100%. */
export function formatShare(part: number, whole: number): string {
  if (whole === 0) return '–';
  const percent = (part / whole) * 100;
  const shown = part < whole ? Math.min(percent, 99.99) : 100;
  return `${shown.toLocaleString(LOCALE, { maximumFractionDigits: shown > 99 ? 2 : 1 })}%`;
}

/** `62 ms`, `1.4 s`, with a nonbreaking space. */
export function formatMilliseconds(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)}\u00a0ms`;
  return `${(milliseconds / 1000).toLocaleString(LOCALE, { maximumFractionDigits: 1 })}\u00a0s`;
}

/** A point in time, to the second, in the reader's time zone. */
export function formatTime(iso: string): string {
  return new Date(iso).toLocaleString(LOCALE, {
    year: 'numeric',
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  });
}

/** Text from the API, with its ISO times converted to the reader's time zone. */
export function formatTimesIn(text: string): string {
  return text.replace(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, formatTime);
}

/** A day in the reader's time zone. */
export function formatDay(iso: string): string {
  return new Date(iso).toLocaleDateString(LOCALE, { year: 'numeric', month: 'short', day: 'numeric' });
}

/** Relative time: `12 s ago`, `in 5 min`. */
export function formatAgo(iso: string, nowMilliseconds: number): string {
  const seconds = Math.round((nowMilliseconds - Date.parse(iso)) / 1000);
  const size = Math.abs(seconds);
  if (size < 2) return 'now';
  const text = durationText(size);
  return seconds > 0 ? `${text} ago` : `in ${text}`;
}

function durationText(seconds: number): string {
  if (seconds < MINUTE_SECONDS) return `${seconds} s`;
  if (seconds < HOUR_SECONDS) return `${Math.round(seconds / MINUTE_SECONDS)} min`;
  if (seconds < DAY_SECONDS) return `${Math.round(seconds / HOUR_SECONDS)} h`;
  return `${Math.round(seconds / DAY_SECONDS)} d`;
}

/** `0x1234…abcd`, which is enough to tell wallets apart. */
export function shortenAddress(address: string): string {
  return address.length > 13 ? `${address.slice(0, 6)}…${address.slice(-4)}` : address;
}

/** `PAYMENT_SETTLED` as it is written in REST and event payloads: `payment.settled`. */
export function formatEventType(name: string): string {
  const [subject, ...rest] = name.toLowerCase().split('_');
  return rest.length > 0 ? `${subject}.${rest.join('_')}` : name;
}

/** `API_KEY_CREATED` as it is written in REST: `api_key.created`. */
export function formatAuditAction(name: string): string {
  return name.toLowerCase().replace(/^(api_key|[a-z]+)_/, '$1.');
}

const ABBREVIATIONS = /^(CRM|HTTP|MCP)$/;

/** `SUCCEEDED` as a label: `Succeeded`. */
export function formatEnum(name: string): string {
  if (ABBREVIATIONS.test(name)) return name;
  return name.charAt(0) + name.slice(1).toLowerCase().replaceAll('_', ' ');
}
