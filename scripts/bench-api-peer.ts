/** The peers of bench-api: bare Hono handlers that run one query, or one transaction with an `add_job`. */
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import postgres from 'postgres';

const sql = postgres(process.env['DATABASE_URL']!, { max: 10 });
const app = new Hono();
app.get('/jobs/:id', async (context) => {
  const [job] = await sql`SELECT * FROM jobs WHERE id = ${context.req.param('id')}`;
  return context.json(job ?? null);
});
app.post('/jobs', async (context) => {
  await sql.begin((tx) => tx`SELECT 1 FROM graphile_worker.add_job('bench_nothing', payload := ${JSON.stringify({ jobId: 'none' })}::json)`);
  return context.json({}, 201);
});
const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => console.log(`http://127.0.0.1:${port}`));
process.on('SIGTERM', () => {
  server.close();
  void sql.end({ timeout: 1 }).finally(() => process.exit(0));
});
