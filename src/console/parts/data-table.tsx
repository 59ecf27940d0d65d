import { Box, Button, Checkbox, Group, Skeleton, Stack, Table } from '@mantine/core';
import { IconChevronLeft, IconChevronRight } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import type { PageInfo, Paging } from './use-paging.ts';

export type Column<Row> = {
  /** The heading, unique within the table. */
  title: string;
  render(row: Row): ReactNode;
  align?: 'left' | 'right';
  width?: number | string;
};

/** The selected rows, by their keys. `nameOf` identifies a row for screen readers. */
export type Selection<Row> = {
  selected: ReadonlySet<string>;
  onChange(selected: ReadonlySet<string>): void;
  nameOf(row: Row): string;
};

const SKELETON_ROWS = ['a', 'b', 'c', 'd', 'e', 'f'];

/**
 * A table that shows its rows as cards on screens that are too narrow for a table. It shows a loading state if `rows`
 * is undefined, `empty` if there are no rows, and nothing if `rows` is null because loading failed.
 *
 * @param caption names the table for screen readers.
 * @param onOpen is called on a click anywhere in a row. For keyboard users, the first column also needs a real link or
 *   button.
 * @param isNarrow keeps the table on narrow screens, where its few short columns fit side by side.
 */
export function DataTable<Row>(props: {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[] | null | undefined;
  keyOf(row: Row): string;
  empty: ReactNode;
  onOpen?: (row: Row) => void;
  classNameOf?: (row: Row) => string | undefined;
  /** Adds a checkbox to each row. */
  selection?: Selection<Row>;
  isNarrow?: boolean;
}) {
  const { caption, columns, rows, keyOf, empty, onOpen, classNameOf, selection, isNarrow = false } = props;
  if (rows === null) return null;
  if (!rows) {
    return (
      <Stack gap={10} p="md" aria-busy="true" aria-label={`Loading ${caption.toLowerCase()}`} role="status">
        {SKELETON_ROWS.map((key) => (
          <Skeleton key={key} height={18} />
        ))}
      </Stack>
    );
  }
  if (rows.length === 0) return empty;
  return (
    <Box className={isNarrow ? 'data-table' : 'data-table data-cards'}>
      {/* Cards aren't displayed as a table, so the roles must be explicit. */}
      <Table role="table" highlightOnHover={onOpen !== undefined}>
        <caption className="visually-hidden">{caption}</caption>
        <Table.Thead role="rowgroup">
          <Table.Tr role="row">
            {selection && <SelectAll keys={rows.map(keyOf)} what={caption.toLowerCase()} {...selection} />}
            {columns.map(({ title, align = 'left', width }) => (
              <Table.Th key={title} role="columnheader" data-align={align} w={width} fz="xs" c="dimmed" fw={500}>
                {title}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody role="rowgroup">
          {rows.map((row) => (
            <Table.Tr
              role="row"
              key={keyOf(row)}
              className={[onOpen && 'row-link', classNameOf?.(row)].filter(Boolean).join(' ')}
              onClick={onOpen && ((event) => isOnControl(event.target) || onOpen(row))}
            >
              {selection && <SelectCell itemKey={keyOf(row)} name={selection.nameOf(row)} {...selection} />}
              {columns.map(({ title, render, align = 'left' }) => (
                <Table.Td
                  key={title}
                  role="cell"
                  data-title={title}
                  data-align={align}
                  className={align === 'right' ? 'numeric' : undefined}
                >
                  {render(row)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Box>
  );
}

/** Whether a click was on an interactive element, such as a link in a row. */
function isOnControl(target: EventTarget): boolean {
  return target instanceof Element && target.closest('a, button, input') !== null;
}

function SelectAll(props: Omit<Selection<never>, 'nameOf'> & { keys: readonly string[]; what: string }) {
  const { keys, what, selected, onChange } = props;
  const count = keys.filter((key) => selected.has(key)).length;
  const isAll = count === keys.length;
  return (
    <Table.Th role="columnheader" w={36}>
      <Checkbox
        size="xs"
        className="select-target"
        label={<span className="visually-hidden">Select all {what} on this page</span>}
        checked={isAll}
        indeterminate={count > 0 && !isAll}
        onChange={() => onChange(new Set(isAll ? [] : keys))}
      />
    </Table.Th>
  );
}

function SelectCell(props: Omit<Selection<never>, 'nameOf'> & { itemKey: string; name: string }) {
  const { itemKey, name, selected, onChange } = props;
  function toggle(): void {
    const changed = new Set(selected);
    if (!changed.delete(itemKey)) changed.add(itemKey);
    onChange(changed);
  }
  return (
    // A click next to the checkbox must not open the row.
    <Table.Td
      role="cell"
      className="select-cell"
      onClick={(event) => event.stopPropagation()}
      style={{ cursor: 'default' }}
    >
      <Checkbox
        size="xs"
        className="select-target"
        label={<span className="visually-hidden">Select {name}</span>}
        checked={selected.has(itemKey)}
        onChange={toggle}
      />
    </Table.Td>
  );
}

/** Buttons for the previous and next pages. Hidden if there is only one page. */
export function Pager({ pageInfo, paging }: { pageInfo: PageInfo | undefined; paging: Paging }) {
  if (!pageInfo || !(pageInfo.hasNextPage || pageInfo.hasPreviousPage)) return null;
  return (
    <Group justify="flex-end" gap="xs" px="md" py="xs" component="nav" aria-label="Pages">
      <Button
        variant="default"
        size="xs"
        leftSection={<IconChevronLeft size={14} />}
        disabled={!pageInfo.hasPreviousPage}
        onClick={() => paging.previous(pageInfo.startCursor)}
      >
        Previous
      </Button>
      <Button
        variant="default"
        size="xs"
        rightSection={<IconChevronRight size={14} />}
        disabled={!pageInfo.hasNextPage}
        onClick={() => paging.next(pageInfo.endCursor)}
      >
        Next
      </Button>
    </Group>
  );
}
