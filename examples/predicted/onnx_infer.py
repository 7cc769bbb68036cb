import os
import numpy
import onnxruntime
from onnx import TensorProto, helper
x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy")
graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "graph", [x], [y])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
providers = ["CPUExecutionProvider"]
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=providers)
print(session.run(None, {"x": numpy.ones(4, numpy.float32)}), flush=True)
os._exit(0)
