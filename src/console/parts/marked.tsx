import { Code } from '@mantine/core';

/** A sentence of a description; what is between backticks is code. */
export function Marked({ children }: { children: string }) {
  return children.split('`').map((part, index) => {
    // The parts have no names, and stay where they are.
    const key = `${index}${part}`;
    return index % 2 === 1 ? <Code key={key}>{part}</Code> : part;
  });
}
