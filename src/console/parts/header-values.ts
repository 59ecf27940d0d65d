import { randomId } from '@mantine/hooks';

/** A row of a form's table of headers. `key` identifies it while rows are added and removed. */
export type HeaderRow = { key: string; name: string; value: string };

/** The initial values of a new row. */
export type HeaderPreset = { label: string; name: string; value: string };

/** The rows for stored headers, whose values are masked. */
export function headerRows<H extends { name: string; value: string }>(headers: readonly H[]): (H & HeaderRow)[] {
  return headers.map((header, index) => ({ ...header, key: `stored-${index}` }));
}

/** An empty row, or one for a preset. */
export function newHeader(preset?: HeaderPreset): HeaderRow {
  return { key: randomId('header-'), name: preset?.name ?? '', value: preset?.value ?? '' };
}

/** The field paths of stored headers whose values are still masked in the form. */
export function keptHeaders(
  field: string,
  rows: readonly HeaderRow[],
  before: readonly HeaderRow[],
): { path: string; title: string }[] {
  return rows.flatMap(({ name, value }, index) => {
    const stored = before.find((header) => header.name.toLowerCase() === name.toLowerCase());
    return stored?.value === value ? [{ path: `${field}.${index}.value`, title: name }] : [];
  });
}

/**
 * A header with the value to send. A user name and password that were entered as `Basic user:password` are encoded
 * (RFC 7617). An encoded value contains no colon, so it stays unchanged.
 */
export function headerToSend({ name, value }: Pick<HeaderRow, 'name' | 'value'>): { name: string; value: string } {
  const entered = name.toLowerCase() === 'authorization' ? /^basic +([^:]*:.*)$/i.exec(value)?.[1] : undefined;
  return { name, value: entered === undefined ? value : `Basic ${inBase64(entered)}` };
}

function inBase64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}
