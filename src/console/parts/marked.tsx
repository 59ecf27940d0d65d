import { Code } from '@mantine/core';

/** Text in which backticks mark code. */
export function Marked({ children }: { children: string }) {
  return children.split('`').map((part, index) => {
    // The parts have no identity of their own and never move.
    const key = `${index}${part}`;
    return index % 2 === 1 ? <Code key={key}>{part}</Code> : part;
  });
}
