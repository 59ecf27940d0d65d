// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// The two functions of Multicall3 (https://www.multicall3.com) that payment software calls, installed at its address.
/// With it, a facilitator can tell why a payment would fail.
contract LocalMulticall {
    struct Call {
        address target;
        bytes callData;
    }

    struct Call3 {
        address target;
        bool allowFailure;
        bytes callData;
    }

    struct Result {
        bool success;
        bytes returnData;
    }

    function tryAggregate(bool requireSuccess, Call[] calldata calls) external payable returns (Result[] memory results) {
        results = new Result[](calls.length);
        for (uint256 i = 0; i < calls.length; i++) {
            results[i] = _run(calls[i].target, calls[i].callData, !requireSuccess);
        }
    }

    function aggregate3(Call3[] calldata calls) external payable returns (Result[] memory results) {
        results = new Result[](calls.length);
        for (uint256 i = 0; i < calls.length; i++) {
            results[i] = _run(calls[i].target, calls[i].callData, calls[i].allowFailure);
        }
    }

    function _run(address target, bytes calldata callData, bool allowFailure) private returns (Result memory) {
        (bool success, bytes memory returnData) = target.call(callData);
        require(success || allowFailure, "Multicall3: call failed");
        return Result(success, returnData);
    }
}
