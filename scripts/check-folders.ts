/**
 * Prints the folders in `src/` from top to bottom. Fails on imports from folders above and on files that import each
 * other.
 */
import { FOLDERS, findProblems, readSources } from './folders.ts';

const width = Math.max(...FOLDERS.map(([folder]) => folder.length));
for (const [folder, what] of FOLDERS) console.log(`${folder.padEnd(width)}  ${what}`.trimEnd());

const problems = findProblems(readSources());
for (const problem of problems) console.error(problem);
console.log(problems.length === 0 ? 'Every import points downward.' : `${problems.length} problems.`);
if (problems.length > 0) process.exitCode = 1;
