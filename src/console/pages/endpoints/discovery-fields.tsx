import { Fieldset, Stack, TagsInput, Textarea, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import type { DiscoveryValues } from './discovery-values.ts';

const MAX_ROWS = 12;
const CODE = { input: 'mono' };

/** The section of the endpoint form that describes how buyers and their agents call the endpoint. */
export function DiscoveryFields<Values extends DiscoveryValues>({ form }: { form: UseFormReturnType<Values> }) {
  // The service reports the position in the JSON, but the form has a single field for all of it.
  const problemOf = (field: keyof DiscoveryValues) => {
    const [name, problem] = Object.entries(form.errors).find(([key]) => key.split('.')[0] === field) ?? [];
    return name === undefined || name === field ? problem : `${name.slice(field.length + 1)}: ${String(problem)}`;
  };
  return (
    <Fieldset legend="Discovery">
      <Stack gap="md">
        <TextInput
          label="Media type"
          description="The media type of your API’s responses."
          placeholder="application/json"
          spellCheck={false}
          {...form.getInputProps('mimeType')}
        />
        <Textarea
          label="Input schema"
          description="JSON Schemas for the query, the path’s parameters (path), the headers, and the body. Agents use them to call the endpoint."
          placeholder={'{ "query": { "type": "object", "properties": { "city": { "type": "string" } } } }'}
          autosize
          minRows={2}
          maxRows={MAX_ROWS}
          spellCheck={false}
          classNames={CODE}
          {...form.getInputProps('inputSchema')}
          error={problemOf('inputSchema')}
        />
        <Textarea
          label="Example response"
          description="A JSON example that buyers see before they pay."
          placeholder={'{ "city": "Bern", "temperature": 18 }'}
          autosize
          minRows={2}
          maxRows={MAX_ROWS}
          spellCheck={false}
          classNames={CODE}
          {...form.getInputProps('exampleResponse')}
          error={problemOf('exampleResponse')}
        />
        <TagsInput
          label="Tags"
          description="Topics that help buyers find the endpoint. Catalogs show the first five."
          splitChars={[',']}
          acceptValueOnBlur
          {...form.getInputProps('tags')}
          error={problemOf('tags')}
        />
      </Stack>
    </Fieldset>
  );
}
