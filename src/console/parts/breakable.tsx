import type { ReactNode } from 'react';

/** A URL, a path, or an ID may wrap after a run of these characters. */
const BREAKS = /(?<=[/?&=_])(?=[^/?&=_])/;

/** A URL, a path, or an ID that is broken at its separators if it doesn't fit on one line. */
export function Breakable({ text }: { text: string }) {
  const [first = '', ...others] = text.split(BREAKS);
  const broken = others.reduce<ReactNode>(
    (before, part) => (
      <>
        {before}
        <wbr />
        {part}
      </>
    ),
    first,
  );
  return <span className="breakable">{broken}</span>;
}
