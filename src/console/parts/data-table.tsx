import { Box, Button, Group, Skeleton, Stack, Table } from '@mantine/core';
import { IconChevronLeft, IconChevronRight } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';

export type Column<Row> = {
  /** The heading, unique within the table. */
  title: string;
  render(row: Row): ReactNode;
  align?: 'left' | 'right';
  width?: number | string;
};

const SKELETON_ROWS = ['a', 'b', 'c', 'd', 'e', 'f'];

/**
 * A table of rows. It shows a loading state if `rows` is undefined, `empty` if there are no rows, and nothing if `rows`
 * is null because loading failed.
 *
 * @param caption names the table for screen readers.
 * @param onOpen is called on a click anywhere in a row. For keyboard users, the first column also needs a real link or
 *   button.
 */
export function DataTable<Row>(props: {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[] | null | undefined;
  keyOf(row: Row): string;
  empty: ReactNode;
  onOpen?: (row: Row) => void;
  classNameOf?: (row: Row) => string | undefined;
}) {
  const { caption, columns, rows, keyOf, empty, onOpen, classNameOf } = props;
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
    <Box style={{ overflowX: 'auto' }}>
      <Table highlightOnHover={onOpen !== undefined}>
        <caption className="visually-hidden">{caption}</caption>
        <Table.Thead>
          <Table.Tr>
            {columns.map(({ title, align = 'left', width }) => (
              <Table.Th key={title} ta={align} w={width} fz="xs" c="dimmed" fw={500} style={{ whiteSpace: 'nowrap' }}>
                {title}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr
              key={keyOf(row)}
              className={[onOpen && 'row-link', classNameOf?.(row)].filter(Boolean).join(' ')}
              onClick={onOpen && (() => onOpen(row))}
            >
              {columns.map(({ title, render, align = 'left' }) => (
                <Table.Td key={title} ta={align} className={align === 'right' ? 'numeric' : undefined}>
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

export type PageWindow = { first?: number; after?: string | null; last?: number; before?: string | null };
type PageInfo = {
  startCursor?: string | null;
  endCursor?: string | null;
  hasNextPage: boolean;
  hasPreviousPage: boolean;
};

/** A list's current page. Spread `variables` into the query, and pass the whole object to `Pager`. */
export function usePaging(size = 25) {
  const start: PageWindow = { first: size };
  const [variables, setVariables] = useState<PageWindow>(start);
  return {
    variables,
    next: (after: string | null | undefined) => setVariables({ first: size, after: after ?? null }),
    previous: (before: string | null | undefined) => setVariables({ last: size, before: before ?? null }),
    reset: () => setVariables(start),
  };
}

/** Buttons for the previous and next pages. Hidden if there is only one page. */
export function Pager({ pageInfo, paging }: { pageInfo: PageInfo | undefined; paging: ReturnType<typeof usePaging> }) {
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
