import { openScope } from './scope.ts'; import { startStores, startService } from './stand.ts'; import { importBody } from './load.ts'; import { cpuTime, cpuPerUnit } from './cpu.ts';
const scope = openScope();
const stores = await startStores(scope, { redis: true }); const s = await startService(scope, stores, 1);
const { importId } = await s.client.upload([...importBody(20000, s.orgId)]);
let n=0; for(;;){ const r = await s.client.call('GET', `/admin/v1/imports/${importId}`); n++; if (r.state !== 'IMPORT_STATE_RUNNING') { console.log(r.state, JSON.stringify(r).length); break; } await new Promise(r=>setTimeout(r,50)); }
for (const path of [`/admin/v1/imports/${importId}`, '/admin/v1/imports?pageSize=1', '/healthz']) {
 for (let i=0;i<100;i++) await s.client.call('GET', path);
 const roles = { ...s.roles(), ...stores.roles() }; const b = cpuTime(roles); const t=performance.now();
 for (let i=0;i<200;i++) await s.client.call('GET', path);
 console.log(path, ((performance.now()-t)/200).toFixed(2),'ms', cpuPerUnit(b, cpuTime(roles), 200));
}
await scope.close(); process.exit();
