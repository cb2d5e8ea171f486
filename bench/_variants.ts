import { createPostgresBackend, createRedisBackend, Queue, Worker } from 'bullmq'; import { Redis } from 'ioredis';
import { openScope } from './scope.ts'; import { startStores } from './stand.ts'; import { cpuTime } from './cpu.ts'; import { migrateQueue } from '../src/queue/schema.ts';
const kind = process.argv[2] as 'redis'|'postgres'; const jobs = Number(process.argv[3]);
const scope = openScope(); const stores = await startStores(scope, { redis: true }); await migrateQueue(stores.pool);
const R = { removeOnComplete: true, removeOnFail: true }; const W = { removeOnComplete: { count: 0 }, removeOnFail: { count: 0 } };
const variants: any = {
 'id, job+worker remove, ev100': { id: true, job: R, worker: W, ev: 100 },
 'id, worker remove, ev100': { id: true, job: {}, worker: W, ev: 100 },
 'id, job remove, ev100': { id: true, job: R, worker: {}, ev: 100 },
 'noid, worker remove, ev100': { id: false, job: {}, worker: W, ev: 100 },
 'id, worker remove, ev default': { id: true, job: {}, worker: W },
 'id, worker remove, ev 0': { id: true, job: {}, worker: W, ev: 0 },
};
for (let rep=0;rep<2;rep++) for (const [name, v] of Object.entries<any>(variants)) {
 const qn = 'q' + Math.random().toString(36).slice(2);
 const q: any = kind === 'redis' ? new Queue(qn, { connection: new Redis(stores.redis!.url, { maxRetriesPerRequest: null }), ...(v.ev !== undefined ? { streams: { events: { maxLen: v.ev } } } : {}) }, createRedisBackend) : new Queue(qn, { connection: { connectionString: stores.databaseUrl, max: 2, options: '-c synchronous_commit=off' } } as any, createPostgresBackend as any);
 let n = 0; let fin: any; const all = new Promise(r => fin = r);
 const w: any = kind === 'redis' ? new Worker(qn, async () => { if (++n === jobs) fin(); }, { concurrency: 200, ...v.worker, connection: new Redis(stores.redis!.url, { maxRetriesPerRequest: null }) }, createRedisBackend) : new Worker(qn, async () => { if (++n === jobs) fin(); }, { concurrency: 200, ...v.worker, connection: { connectionString: stores.databaseUrl, max: 8, options: '-c synchronous_commit=off' } } as any, createPostgresBackend as any);
 await q.waitUntilReady(); await w.waitUntilReady();
 const roles = { self: [process.pid], ...stores.roles() };
 await new Promise(r => setTimeout(r, 300));
 const selfCpu = process.cpuUsage(); const b = cpuTime(stores.roles()); const t = performance.now();
 for (let o = 0; o < jobs; o += 1000) await q.addBulk(Array.from({ length: 1000 }, (_, i) => ({ name: 'j', data: { i: '1', o: o + i }, opts: { ...v.job, ...(v.id ? { jobId: `i1-${o + i}` } : {}) } })));
 await all; const ms = performance.now() - t; const a = cpuTime(stores.roles()); const c = process.cpuUsage(selfCpu);
 console.log(kind, name.padEnd(32), (jobs / ms * 1000).toFixed(0), 'jobs/s; cpu node', ((c.user + c.system) / jobs).toFixed(0), Object.keys(a).map(k => k + ' ' + ((a[k]! - b[k]!) / jobs).toFixed(0)).join(' '));
 await w.close(true); await q.close();
}
await scope.close(); process.exit();
