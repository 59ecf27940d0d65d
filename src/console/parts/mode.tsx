import { Badge } from '@mantine/core';
import { IconCoin, IconFlask } from '@tabler/icons-react';

export type Mode = 'TEST' | 'LIVE';

const LOOKS = {
  TEST: { color: 'orange', word: 'Test', money: 'Test money', icon: IconFlask },
  LIVE: { color: 'teal', word: 'Live', money: 'Real money', icon: IconCoin },
} as const;

/** Whether a project is for testing. */
export function ModeBadge({ mode }: { mode: Mode }) {
  const { color, word } = LOOKS[mode];
  return <Badge color={color}>{word}</Badge>;
}

/** Shows whether a project's money is real, on pages about money. */
export function MoneyBadge({ mode }: { mode: Mode }) {
  const { color, money, icon: MoneyIcon } = LOOKS[mode];
  return (
    <Badge color={color} leftSection={<MoneyIcon size={12} aria-hidden />}>
      {money}
    </Badge>
  );
}
