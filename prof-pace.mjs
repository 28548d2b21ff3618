import { Session } from 'node:inspector';
import { Simulation } from './dist/cli/simulation.js';
import { WasmEngine } from './dist/wasm/index.js';
import { loadRaft } from './dist/bench/raft-scenario.js';
const { scenario, images } = loadRaft();
const f = { ...scenario, plan: { ...scenario.plan, events: [] } };
const engine = new WasmEngine();
const run=(seed)=>{const s=new Simulation({scenario:f,images,engine,seed});s.runUntil({});s.finish();s.dispose()};
for(let i=0;i<20;i++)run(i);
const session=new Session();session.connect();session.post('Profiler.enable');session.post('Profiler.setSamplingInterval',{interval:200});session.post('Profiler.start');
for(let i=0;i<60;i++)run(i);
session.post('Profiler.stop',(e,{profile:p})=>{
 const n=new Map(p.nodes.map(x=>[x.id,x]));const c=new Map();const a=new Map();
 for(const id of p.samples){const {callFrame:f}=n.get(id);const w=f.url.startsWith('wasm:')?'wasm':f.url.split('/dist/')[1]??f.functionName;const k=f.functionName+' '+w+':'+f.lineNumber;c.set(k,(c.get(k)??0)+1);const ar=/^(sim\/[a-z]+|wasm)/.exec(w)?.[1]??w;a.set(ar,(a.get(ar)??0)+1);}
 const t=p.samples.length;console.log([...a].sort((x,y)=>y[1]-x[1]).slice(0,10).map(([k,v])=>k+' '+(100*v/t).toFixed(1)).join(' | '));
 for(const [k,v] of [...c].filter(([k])=>/sim\//.test(k)).sort((x,y)=>y[1]-x[1]).slice(0,60))console.log((100*v/t).toFixed(2),k);
});
