import { Code } from '@mantine/core';

/** Text with backticks around code. */
export function Marked({ children }: { children: string }) {
  return children.split('`').map((part, index) => {
    // The parts have no IDs and never move.
    const key = `${index}${part}`;
    return index % 2 === 1 ? <Code key={key}>{part}</Code> : part;
  });
}
