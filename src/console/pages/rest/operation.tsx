import { Anchor, Badge, Code, Group, Stack, Table, Text, TextInput, Title } from '@mantine/core';
import { Suspense, useState } from 'react';
import {
  isExport,
  type Operation,
  type OperationResponse,
  type Parameter,
  problemsOf,
  type RestReference,
} from '../../api/openapi.ts';
import { docsSectionOf } from '../../api/problem.ts';
import { Breakable } from '../../parts/breakable.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { docsUrl } from '../../parts/docs-link.ts';
import { lazyPart } from '../../parts/lazy-part.ts';
import { Loading } from '../../parts/loading.tsx';
import { Marked } from '../../parts/marked.tsx';
import { Panel } from '../../parts/page.tsx';
import { SamplePanel } from '../../parts/sample-panel.tsx';
import { readBody } from './body.ts';
import { SAMPLES } from './samples.ts';
import { SchemaFields } from './schema.tsx';
import { RestTry } from './try.tsx';

export const METHOD_COLORS: Readonly<Record<string, string>> = {
  GET: 'blue',
  POST: 'teal',
  PATCH: 'orange',
  DELETE: 'red',
};

const BodyEditor = lazyPart(() => import('./body-editor.tsx'), 'BodyEditor');

type Schemas = RestReference['schemas'];

/** One operation: its parameters, its request body, its responses, and how to call it. */
export function RestOperation({ operation, schemas }: { operation: Operation; schemas: Schemas }) {
  const { method, path, summary, parameters, requestBody, responses } = operation;
  const { id } = useProject();
  const [values, setValues] = useState<Readonly<Record<string, string>>>({ projectId: id });
  const content = requestBody?.content['application/json'];
  const example = content?.example ? JSON.stringify(content.example, null, 2) : '';
  const [text, setText] = useState(example);
  const body = content && readBody(text, content.schema, requestBody.required ?? false, schemas);
  return (
    <Stack gap="lg">
      <Stack gap={6}>
        <Title order={2}>
          <Marked>{summary}</Marked>
        </Title>
        <Group gap="xs">
          <Badge color={METHOD_COLORS[method] ?? 'gray'}>{method}</Badge>
          <Code style={{ overflowWrap: 'anywhere' }}>{path}</Code>
        </Group>
      </Stack>
      {parameters.length > 0 && (
        <Panel title="Parameters">
          {parameters.map((parameter) => (
            <ParameterField
              key={parameter.name}
              parameter={parameter}
              value={values[parameter.name] ?? ''}
              onChange={(value) => setValues({ ...values, [parameter.name]: value })}
            />
          ))}
        </Panel>
      )}
      {content && body && (
        <Panel title="Request body">
          <SchemaFields schema={content.schema} schemas={schemas} />
          <Suspense fallback={<Loading />}>
            <BodyEditor
              schema={content.schema}
              schemas={schemas}
              text={text}
              example={example}
              faults={body.faults}
              onChange={setText}
            />
          </Suspense>
        </Panel>
      )}
      <Panel title="Request">
        <SamplePanel
          write={(language) =>
            SAMPLES[language]({ operation, values, body: body?.value, origin: window.location.origin })
          }
        />
        {!isExport(operation) && <RestTry operation={operation} values={values} body={body} />}
      </Panel>
      <Panel title="Responses">
        {Object.entries(responses).map(([status, response]) => (
          <ResponseSection key={status} status={status} response={response} schemas={schemas} />
        ))}
      </Panel>
    </Stack>
  );
}

/** Headers are documentation only: “Try it” doesn't send them. */
function ParameterField(props: { parameter: Parameter; value: string; onChange(value: string): void }) {
  const { parameter, value, onChange } = props;
  const { name, in: place, required = false, description } = parameter;
  const about = `${place}${description ? ` · ${description}` : ''}`;
  if (place === 'header') {
    return (
      <Text size="sm">
        <Code>{name}</Code> <Marked>{about}</Marked>
      </Text>
    );
  }
  return (
    <TextInput
      label={name}
      description={<Marked>{about}</Marked>}
      withAsterisk={required}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      classNames={{ input: 'mono' }}
    />
  );
}

function ResponseSection({
  status,
  response,
  schemas,
}: {
  status: string;
  response: OperationResponse;
  schemas: Schemas;
}) {
  const isSuccess = status < '400';
  const file = response.content?.['application/jsonl'];
  const schema = file?.['x-line-schema'] ?? response.content?.['application/json']?.schema;
  if (!isSuccess) return <ErrorCodes status={status} response={response} />;
  return (
    <Stack gap={6}>
      <Group gap="xs">
        <Badge color="teal">{status}</Badge>
        {file && (
          <Text size="sm" c="dimmed">
            A file with one line per item
          </Text>
        )}
        {!schema && (
          <Text size="sm" c="dimmed">
            No response body
          </Text>
        )}
      </Group>
      {schema && <SchemaFields schema={schema} schemas={schemas} />}
    </Stack>
  );
}

function ErrorCodes({ status, response }: { status: string; response: OperationResponse }) {
  return (
    <Table aria-label={`Errors with status ${status}`} horizontalSpacing={8}>
      <Table.Tbody>
        {problemsOf(response).map(({ code, meaning }) => (
          <Table.Tr key={code}>
            <Table.Td w={60}>
              <Badge color="gray">{status}</Badge>
            </Table.Td>
            <Table.Td w={{ sm: 240 }}>
              <Anchor href={docsUrl('errors', docsSectionOf({ code }))} target="_blank" underline="always">
                <Code bg="transparent" p={0}>
                  <Breakable text={code} />
                </Code>
              </Anchor>
            </Table.Td>
            <Table.Td>
              <Marked>{meaning}</Marked>
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
