import { FOLDERS } from './folders.ts';

/** The page on the folders of `src/`. Adjacent folders without a description share a row. */
export function foldersPage(): string {
  const rows: { folders: string[]; what: string }[] = [];
  for (const [folder, what] of FOLDERS) {
    const above = rows.at(-1);
    if (what === '' && above?.what === '') above.folders.push(folder);
    else rows.push({ folders: [folder], what });
  }
  const cells = rows.map(({ folders, what }) => `| ${folders.map((folder) => `\`${folder}\``).join(', ')} | ${what} |`);
  return `<!-- Made from the code by \`npm run generate:docs\`. Edit scripts/folders.ts, not this page. -->

# Folders

The folders of \`src/\`, from top to bottom. A file imports only from its own folder and from folders below it, types
included. \`npm run folders\` checks this. A subfolder that isn't listed belongs to its parent, and a folder without a
description contains what its name says. For how the parts work together, see [architecture](architecture.md).

| Folder | What it contains |
|---|---|
${cells.join('\n')}
`;
}
