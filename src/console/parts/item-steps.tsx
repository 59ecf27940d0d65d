import { Button, Group, Tooltip } from '@mantine/core';
import { IconChevronDown, IconChevronUp } from '@tabler/icons-react';
import { type ReactNode, useEffect, useEffectEvent, useState } from 'react';
import { readableKeys, SHORTCUTS } from './shortcuts.ts';
import type { PageInfo, Paging } from './use-paging.ts';
import { useShortcuts } from './use-shortcuts.ts';

/** Open the item before or after the open one. Undefined at the end of the list, or if the item isn't on the page. */
export type Steps = { previous: (() => void) | undefined; next: (() => void) | undefined };

/** Set while another page of the list is loading. The first or last item of that page is then opened. */
type Turn = { to: 'first' | 'last'; fromCursor: string | null | undefined };

/** Moves between the items of a list while one is open, even across pages. */
export function useSteps(list: {
  ids: readonly string[];
  openId: string | undefined;
  pageInfo: PageInfo | undefined;
  paging: Paging;
  onOpen(id: string): void;
}): Steps {
  const { ids, openId, pageInfo, paging, onOpen } = list;
  const [turn, setTurn] = useState<Turn>();
  const cursor = pageInfo?.startCursor;
  const finish = useEffectEvent(({ to }: Turn) => {
    setTurn(undefined);
    const id = to === 'first' ? ids[0] : ids.at(-1);
    if (id && openId) onOpen(id);
  });
  useEffect(() => {
    if (turn && cursor !== turn.fromCursor) finish(turn);
  }, [turn, cursor]);

  const index = openId === undefined ? -1 : ids.indexOf(openId);
  if (index === -1 || turn) return { previous: undefined, next: undefined };
  const open = (id: string | undefined) => id && (() => onOpen(id));
  function turnBack(): void {
    setTurn({ to: 'last', fromCursor: cursor });
    paging.previous(cursor, { replace: true });
  }
  function turnOn(): void {
    setTurn({ to: 'first', fromCursor: cursor });
    paging.next(pageInfo?.endCursor, { replace: true });
  }
  return {
    previous: open(ids[index - 1]) || (pageInfo?.hasPreviousPage ? turnBack : undefined),
    next: open(ids[index + 1]) || (pageInfo?.hasNextPage ? turnOn : undefined),
  };
}

/** Buttons and keys for `useSteps`. `what` names an item, for example, “delivery”. */
export function StepButtons({ steps: { previous, next }, what }: { steps: Steps; what: string }) {
  useShortcuts({ next: () => next?.(), previous: () => previous?.() }, { inDialogs: true });
  return (
    <Group gap={4} component="nav" aria-label={`Other ${what}`}>
      <StepButton
        label="Previous"
        what={what}
        shortcut="previous"
        icon={<IconChevronUp size={14} />}
        onClick={previous}
      />
      <StepButton label="Next" what={what} shortcut="next" icon={<IconChevronDown size={14} />} onClick={next} />
    </Group>
  );
}

function StepButton(props: {
  label: string;
  what: string;
  shortcut: 'previous' | 'next';
  icon: ReactNode;
  onClick: (() => void) | undefined;
}) {
  const { label, what, icon, onClick } = props;
  const [key] = SHORTCUTS[props.shortcut].keys;
  const isDisabled = onClick === undefined;
  return (
    <Tooltip label={`${label} (${readableKeys(key, false)})`}>
      <Button
        size="compact-xs"
        variant="default"
        leftSection={icon}
        aria-label={`${label} ${what}`}
        aria-keyshortcuts={key.toUpperCase()}
        // Not `disabled`, because the button would lose focus at the end of the list.
        aria-disabled={isDisabled}
        data-disabled={isDisabled || undefined}
        onClick={onClick}
      >
        {label}
      </Button>
    </Tooltip>
  );
}
