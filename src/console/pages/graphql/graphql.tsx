import { Alert, Anchor, Grid } from '@mantine/core';
import { useEffect, useState } from 'react';
import { useParams } from 'wouter';
import { useApi } from '../../api/client.ts';
import { type GraphqlSchema, loadSchema } from '../../api/graphql-schema.ts';
import { Loading } from '../../parts/loading.tsx';
import { Page } from '../../parts/page.tsx';
import { GraphqlDocs } from './docs.tsx';
import { GraphqlRunner } from './runner.tsx';

/** The GraphQL page: an editor that runs operations against the API, next to the schema. */
export function GraphqlPage() {
  const { typeName } = useParams<{ typeName?: string }>();
  const api = useApi();
  const [schema, setSchema] = useState<GraphqlSchema>();
  const [failure, setFailure] = useState<Error>();
  useEffect(() => {
    loadSchema(api).then(setSchema, setFailure);
  }, [api]);
  return (
    <Page
      title="GraphQL explorer"
      lead="Run queries as yourself, with this project filled in. Mutations change real data."
      actions={
        <Anchor href="/graphql" target="_blank">
          GraphiQL
        </Anchor>
      }
    >
      <Grid gap="lg">
        <Grid.Col span={{ base: 12, md: 7 }}>
          <GraphqlRunner />
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 5 }}>
          {failure && <Alert color="red" role="alert" title={failure.message} />}
          {!schema && !failure && <Loading />}
          {schema && <GraphqlDocs schema={schema} typeName={typeName} />}
        </Grid.Col>
      </Grid>
    </Page>
  );
}
