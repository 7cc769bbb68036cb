import * as prettier from "prettier";
const source = Array.from({ length: 120 }, (_, i) => `function f${i}(a,b){ if(a>b){return {x:a,y:[b,${i}]}} else {return null} }`).join("\n");
for (let number = 0; number < 20; number++) {
  console.log(`begin ${number}`);
  const began = performance.now();
  await prettier.format(source, { parser: "babel" });
  console.log(`format ${number} ${((performance.now() - began) / 1e3).toFixed(6)}`);
  if (number === 0) console.log(`first_at ${(Date.now() / 1e3).toFixed(6)}`);
}
