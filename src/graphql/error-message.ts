/** graphql-js messages that quote a rejected value, and their replacements without it. */
const WITHOUT_VALUE: readonly [pattern: RegExp, replacement: string][] = [
  // The suggested names are from the schema.
  [
    /^Value .* does not exist in "(\w+)" enum\.( Did you mean the enum value ("\w+"|, | or |, or )+\?)?.*$/s,
    'The value does not exist in the "$1" enum.$2',
  ],
  [/^Enum "(\w+)" cannot represent .*$/s, 'Enum "$1" cannot represent the value.'],
  // For example, a price. Apart from the type's name, graphql-js doesn't say what to do.
  [
    /^String cannot represent a non string value: -?\d[\d.eE+-]*$/,
    'String cannot represent a number. Send it in double quotes.',
  ],
  [/^(\w+) cannot represent (.*?)value: .*$/s, '$1 cannot represent $2value.'],
  [/^Expected value of type "([\w![\]]+)", found .*$/s, 'Expected value of type "$1".'],
  [/^(Syntax Error: .*?)(String|BlockString) ".*$/s, '$1$2.'],
];

/** Messages about variables. These messages contain only names from the schema. */
const HARMLESS =
  /^(Field "\w+" of required type "[\w![\]]+" was not provided\.|Field "\w+" is not defined by type "\w+"\..*|Expected non-nullable type "[\w![\]]+" not to be null\.|Expected type "\w+" to be an object\.|Must be .*)$/;

/**
 * A graphql-js message about a document, without the values that it quotes. A value in the wrong place may be a secret,
 * and error messages end up in callers' logs.
 */
export function withoutValues(message: string): string {
  const [, name, why] = /^Variable "\$(\w+)" got invalid value .*; ([^;]*)$/s.exec(message) ?? [];
  if (name === undefined || why === undefined) {
    return message.startsWith('Variable "$') && message.includes(' got invalid value ')
      ? 'A variable does not match its type.'
      : reduce(message);
  }
  // Without the `^`, the search would start again at every character of the value.
  const place = new RegExp(`^.* at "(${name}[\\w.[\\]]*)"; `, 's').exec(message)?.[1];
  const reason = reduce(why);
  const isSafe = reason !== why || HARMLESS.test(why);
  return `Variable "$${name}" got an invalid value${place ? ` at "${place}"` : ''}; ${isSafe ? reason : 'It does not match its type.'}`;
}

function reduce(message: string): string {
  const [pattern, replacement] = WITHOUT_VALUE.find(([each]) => each.test(message)) ?? [];
  return pattern && replacement ? message.replace(pattern, replacement) : message;
}
