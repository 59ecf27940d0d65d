/** A word in a POSIX shell. Between single quotes, only the single quote is special. */
export const shellWord = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** A string in TypeScript. */
export const quoted = (text: string) =>
  `'${JSON.stringify(text).slice(1, -1).replaceAll(String.raw`\"`, '"').replaceAll("'", String.raw`\'`)}'`;

/** A JSON value in TypeScript. */
export function typescriptLiteral(value: unknown, indent = ''): string {
  return literal(value, indent, {
    scalar: (scalar) => (typeof scalar === 'string' ? quoted(scalar) : String(scalar)),
    name: (name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name)),
  });
}

const PYTHON_WORDS: Readonly<Record<string, string>> = { true: 'True', false: 'False', null: 'None' };

/** A JSON value in Python. JSON's strings and numbers are valid there. */
export function pythonLiteral(value: unknown, indent: string): string {
  return literal(value, indent, {
    scalar: (scalar) =>
      PYTHON_WORDS[String(scalar)] && typeof scalar !== 'string'
        ? PYTHON_WORDS[String(scalar)]!
        : JSON.stringify(scalar),
    name: (name) => JSON.stringify(name),
    step: '    ',
  });
}

type Notation = { scalar(value: unknown): string; name(name: string): string; step?: string };

/** A JSON value as an object or dictionary literal, with a line for each field. */
function literal(value: unknown, indent: string, notation: Notation): string {
  const { scalar, name, step = '  ' } = notation;
  const inner = indent + step;
  if (Array.isArray(value)) {
    const items = value.map((item) => literal(item, inner, notation));
    const isShort = value.every((item) => typeof item !== 'object' || item === null);
    return isShort ? `[${items.join(', ')}]` : `[\n${items.map((item) => `${inner}${item},\n`).join('')}${indent}]`;
  }
  if (typeof value !== 'object' || value === null) return scalar(value);
  const fields = Object.entries(value).map(
    ([key, field]) => `${inner}${name(key)}: ${literal(field, inner, notation)},\n`,
  );
  return fields.length === 0 ? '{}' : `{\n${fields.join('')}${indent}}`;
}

/** A string in Go. Raw strings can't contain backticks. All of JSON's escapes are valid in Go's other strings. */
export function goString(text: string): string {
  return text.includes('`') ? JSON.stringify(text) : `\`${text}\``;
}
