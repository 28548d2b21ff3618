/** One module for each group of features: `run(5)` does something that every mistake changes. */
export const FEATURE_MODULES: Readonly<Record<string, string>> = {
  'calls, loops, br_table': `
    (memory (export "memory") 1)
    (func $work (param i32) (result i32) (local i32)
      (loop $again
        (block $two (block $one (block $zero
          (br_table $zero $one $two (i32.rem_u (local.get 0) (i32.const 3))))
          (local.set 1 (i32.add (local.get 1) (call $ask))) (br $two))
          (i32.store (i32.shl (local.get 0) (i32.const 2)) (local.get 1)))
        (local.set 0 (i32.sub (local.get 0) (i32.const 1)))
        (br_if $again (i32.gt_s (local.get 0) (i32.const 0))))
      (local.get 1))
    (func (export "run") (param i32) (result i32)
      (i32.add (i32.mul (call $work (local.get 0)) (i32.const 3))
        (if (result i32) (i32.eqz (call $ask))
          (then (i32.const 1)) (else (i32.sub (call $ask) (call $work (i32.const 2)))))))`,
  'recursion and globals': `
    (global $g (mut i64) (i64.const 7))
    (func $fib (param i32) (result i32)
      (global.set $g (i64.add (global.get $g) (i64.const 3)))
      (if (result i32) (i32.lt_s (local.get 0) (i32.const 2))
        (then (call $ask))
        (else (i32.add (call $fib (i32.sub (local.get 0) (i32.const 1)))
          (call $fib (i32.sub (local.get 0) (i32.const 2)))))))
    (func (export "run") (param i32) (result i32)
      (i32.add (call $fib (local.get 0)) (i32.wrap_i64 (global.get $g))))`,
  'multi-value, block and loop parameters': `
    (func $pair (param i32) (result i32 i64) (call $ask) (i64.extend_i32_s (local.get 0)))
    (func (export "run") (param i32) (result i32)
      (i32.const 100)
      (call $pair (local.get 0))
      (loop $l (param i32 i64) (result i32)
        (i32.wrap_i64) (i32.add)
        (local.set 0 (i32.sub (local.get 0) (i32.const 1)))
        (i64.const 2)
        (br_if $l (i32.gt_s (local.get 0) (i32.const 0)))
        (i32.wrap_i64) (i32.add (call $ask)) (i32.add))
      (i32.sub))`,
  'indirect calls through a table that code changes': `
    (table 4 funcref) (elem (i32.const 0) $a $b) (elem declare func $c)
    (type $t (func (param i32) (result i32)))
    (func $a (type $t) (i32.add (local.get 0) (call $ask)))
    (func $b (type $t) (i32.mul (local.get 0) (call $ask)))
    (func $c (type $t) (i32.sub (call $ask) (local.get 0)))
    (func (export "run") (param i32) (result i32)
      (table.set 0 (i32.const 2) (ref.func $c))
      (call_indirect (type $t) (call_indirect (type $t)
        (call_indirect (type $t) (local.get 0) (i32.const 0)) (i32.const 1)) (i32.const 2)))`,
  'suspending import in a table': `
    (table 1 funcref) (elem (i32.const 0) $ask)
    (func (export "run") (param i32) (result i32)
      (i32.add (i32.mul (local.get 0) (i32.const 1000)) (call_indirect (result i32) (i32.const 0))))`,
  'bulk memory, dropped segments': `
    (memory (export "memory") 2) (data $d "hello, segment")
    (func (export "run") (param i32) (result i32)
      (memory.init $d (i32.const 4090) (i32.const 0) (i32.const 14))
      (memory.copy (i32.const 8190) (i32.const 4090) (i32.add (call $ask) (i32.const 12)))
      (memory.fill (i32.const 65530) (i32.const 171) (i32.add (call $ask) (i32.const 9000)))
      (data.drop $d)
      (memory.init $d (i32.const 0) (i32.const 0) (i32.const 0))
      (memory.init $d (i32.const 0) (i32.const 0) (call $ask))
      (i32.const 1))`,
  'memory.grow and an access past the end': `
    (memory (export "memory") 1 3)
    (func (export "run") (param i32) (result i32)
      (i32.store (i32.const 65532) (memory.size))
      (i32.store (i32.const 0) (memory.grow (i32.const 1)))
      (i32.store (i32.const 131068) (memory.grow (i32.const 9)))
      (i32.store (i32.const 4) (memory.size))
      (i32.store (i32.const 8) (call $ask))
      (i32.load offset=0xfffffff0 (i32.const 131072)))`,
  'tail calls': `
    (func $down (param i32 i32) (result i32)
      (if (result i32) (i32.eqz (local.get 0)) (then (return_call $ask))
        (else (return_call $down (i32.sub (local.get 0) (i32.const 1))
          (i32.add (local.get 1) (call $ask))))))
    (func (export "run") (param i32) (result i32)
      (i32.add (call $down (local.get 0) (i32.const 3)) (call $ask)))`,
  'vectors and saturating conversions': `
    (memory (export "memory") 1)
    (func (export "run") (param i32) (result i32) (local v128 v128)
      (local.set 1 (i32x4.splat (call $ask)))
      (local.set 2 (f32x4.div (f32x4.splat (f32.const 0)) (f32x4.splat (f32.const 0))))
      (v128.store (i32.const 4088) (i32x4.add (local.get 1) (i32x4.splat (call $ask))))
      (v128.store64_lane 1 (i32.const 8190) (local.get 1))
      (v128.store (i32.const 64) (local.get 2))
      (i32.add (i32.trunc_sat_f64_s (f64.const 1e99)) (i32.extend8_s (i32x4.extract_lane 2 (local.get 1)))))`,
  'exceptions that cross suspensions': `
    (memory (export "memory") 1) (tag $e (param i32 i64)) (tag $f)
    (func $risky (param i32)
      (if (i32.gt_s (local.get 0) (i32.const 2))
        (then (throw $e (call $ask) (i64.const 77))))
      (throw $f))
    (func $again (param i32) (result i32) (local $low i32) (local $high i64)
      (try (result i32)
        (do (call $risky (local.get 0)) (i32.const 0))
        (catch $e
          (local.set $high) (local.set $low)
          (i64.store (i32.const 16) (local.get $high)) (i32.store (i32.const 8) (local.get $low))
          (i32.store (i32.const 24) (call $ask)) (rethrow 0))
        (catch_all (i32.add (call $ask) (i32.const 1000)))))
    (func (export "run") (param i32) (result i32)
      (i32.add (call $ask)
        (try (result i32) (do (i32.add (call $again (i32.const 1)) (call $again (local.get 0))))
          (catch $e (drop) (i32.add (call $ask))))))`,
  'references held across a suspension': `
    (table 2 funcref) (elem (i32.const 0) $one $two)
    (func $one (result i32) (i32.const 1)) (func $two (result i32) (i32.const 2))
    (func (export "run") (param i32) (result i32) (local funcref)
      (local.set 1 (table.get 0 (i32.const 1)))
      (table.set 0 (i32.const 0) (ref.null func))
      (drop (call $ask))
      (table.set 0 (i32.const 0) (local.get 1))
      (i32.add (call_indirect (result i32) (i32.const 0)) (call $ask)))`,
  'extended constants and a start function': `
    (memory (export "memory") 1)
    (global $g i32 (i32.add (i32.const 3) (i32.mul (i32.const 5) (i32.const 7))))
    (data (offset (i32.add (i32.const 8) (i32.const 8))) "xyz")
    (func $start (i32.store (i32.const 100) (global.get $g))) (start $start)
    (func (export "run") (param i32) (result i32)
      (i32.add (i32.load (i32.const 16)) (call $ask)))`,
  'floats whose NaN must be canonical': `
    (memory (export "memory") 1)
    (func (export "run") (param i32) (result i32) (local f64 f64)
      (local.set 1 (f64.div (f64.const 1) (f64.convert_i32_s (i32.sub (call $ask) (i32.const 1)))))
      (loop $l
        (local.set 2 (f64.mul (f64.add (local.get 2) (f64.const 0.5)) (local.get 1)))
        (drop (call $ask))
        (local.set 0 (i32.sub (local.get 0) (i32.const 1)))
        (br_if $l (local.get 0)))
      (f64.store (i32.const 0) (local.get 2))
      (i32.trunc_sat_f64_s (local.get 2)))`,
};
