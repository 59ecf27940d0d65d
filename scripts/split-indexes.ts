const BLOCKS = /\n\n(?=-- )/;
const NEW_INDEX = /^(-- CreateIndex\nCREATE (?:UNIQUE )?INDEX )("\w+" ON "(\w+)")/;

/**
 * Moves each new index of an existing table to a migration of its own, in which it is built concurrently.
 *
 * @param name what the migration is called, without the time
 * @param sql what Prisma has written
 * @returns the migrations, in their order
 */
export function splitIndexes(name: string, sql: string): { name: string; sql: string }[] {
  const blocks = sql.trim().split(BLOCKS);
  const isIndex = (block: string) => {
    const table = NEW_INDEX.exec(block)?.[3];
    return table !== undefined && !sql.includes(`CREATE TABLE "${table}" (`);
  };
  const others = blocks.filter((block) => !isIndex(block)).join('\n\n');
  const indexes = blocks.filter(isIndex).map((block) => block.replace(NEW_INDEX, '$1CONCURRENTLY $2'));
  if (!others && indexes.length === 1) return [{ name, sql: `${indexes[0]}\n` }];
  return [
    ...(others ? [{ name, sql: `${others}\n` }] : []),
    ...indexes.map((index, number) => ({ name: `${name}_index_${number + 1}`, sql: `${index}\n` })),
  ];
}
